"""From dialogue to memories: turns, dated facts, clusters, profiles, dimensions."""
