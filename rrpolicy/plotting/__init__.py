"""Charts: chart model and renderers (SVG, Vega-Lite)."""
