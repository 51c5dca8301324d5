"""The paper: its tables and figures by name, its printed numbers beside ours, and ablations it does not have."""
