"""python -m ftt"""

from ftt.cli import main

main()
