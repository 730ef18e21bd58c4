"""Rigid contacts, joint stops and joint friction of a plant on its equations, in one problem per step."""
