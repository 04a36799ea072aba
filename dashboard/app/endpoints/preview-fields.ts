/** The names of the fields in the preview, which are not saved. */
export const PREVIEW_FIELDS = {
  /** The id of a captured request, or `EXAMPLE`. */
  request: 'preview.request',
  /** The index of the response that the user edits, or `default`. */
  edited: 'preview.edited',
  target: 'preview.target',
  headers: 'preview.headers',
  body: 'preview.body',
} as const;

/** Selects a request that the user describes. */
export const EXAMPLE = 'example';
