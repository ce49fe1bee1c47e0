"""The one implementation of audioloom's manifest contract (`shared/contracts/SPEC.md`)."""
