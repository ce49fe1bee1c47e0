"""Colours of lines, bars and matrices on all pages; those of text and paper are in pages.css."""

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MANY_COLOURS = (*COLOURS, "#000000", "#f0e442", "#595959", "#8c8c8c", "#bfbfbf")
# Viridis, which stays in order for colour-blind readers and in grey.
SHADES = (
    "#440154", "#421763", "#3f2c71", "#3d4280", "#39568b", "#32678b", "#2b788c", "#24898c",
    "#299886", "#39a77b", "#4ab670", "#5ac565", "#7ecf56", "#a8d746", "#d3df35", "#fde725",
)  # fmt: skip
