"""Text made safe for where it is shown: HTML templates, Markdown, spreadsheets, shells, terminals."""
