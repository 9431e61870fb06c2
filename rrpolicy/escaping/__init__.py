"""Text made safe for its display: HTML templates, Markdown, spreadsheets, shells, terminals."""
