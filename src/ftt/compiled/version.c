/* What the library was made of: one that is older than its sources is not used. */
const long version = VERSION;
