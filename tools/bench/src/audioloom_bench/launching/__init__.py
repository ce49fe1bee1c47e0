"""The launcher beside what it rests on: raw containers, and gangs of many workers."""
