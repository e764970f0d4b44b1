"""Memories by a language model: extraction a piece of a session, aggregation, profiles."""
