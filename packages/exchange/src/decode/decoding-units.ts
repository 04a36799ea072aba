/** What decoding takes, in units of CPU time. One unit is about 10 ns. */

/** For a byte that a coding reads or writes. */
export const CODING_UNITS = 0.3;
/**
 * For a byte that the first coding to be removed adds to a body and the second one reads. These can be tables of codes without any
 * data, which take this long for each byte. A body that was really compressed twice has hardly any such bytes.
 */
export const ADDED_UNITS = 6;
/** For a byte in a charset other than UTF-8. */
export const CHARSET_UNITS = 1;
/** To create a decoder for a charset, or to find that the charset is not known. */
export const DECODER_UNITS = 1_000;
