"""What people look at: tables, charts, the page and the card."""
