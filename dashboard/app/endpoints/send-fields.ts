/** The names of the fields of a request to send. */
export const SEND_FIELDS = { query: 'query', headers: 'headers', body: 'body' } as const;

/** The names of the fields with the values of path parameters have this prefix. */
export const PARAMETER_PREFIX = 'parameter.';
