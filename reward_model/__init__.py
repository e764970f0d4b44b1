"""The rubric reward model: does a person prefer the response that uses their memories?

`reward_model/README.md` is the way in; `SPEC` of the method is the paper "Memory-Aware Reward
Modeling: Learning Human Preferences for LLM Memory Use" (MARM), restated in the docstrings.
Importing the package imports nothing else of it.
"""
