// Nothing of its own: what is wanted is the precompiled header beside it.
