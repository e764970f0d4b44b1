"""The explorer's views, one page each: they call the library and define no science."""
