"""How long a call takes, in this process and in fresh ones."""
