/** Names of a database and of a cluster are put into SQL, so they are held to what needs no quoting. */
export const CLICKHOUSE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** What such a name is made of, for messages. */
export const CLICKHOUSE_NAME_RULE = 'letters, digits and _, at most 63, no digit first';
