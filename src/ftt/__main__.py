"""python -m ftt"""

from ftt.cli import main

if __name__ == "__main__":
    main()
