"""Pages of HTML for people: escaped elements, charts as SVG and the style of all pages."""
