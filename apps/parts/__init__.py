"""What the explorer's views share: the session's view, cached data, and ways to show things."""
