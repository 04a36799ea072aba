import { printable } from '@standin/contract';
import type { BodyStart } from '@standin/logstore';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the beginning of a body as one line of printable text. Returns `binary data` for a body that is not UTF-8. */
export const bodyPreview = (start: BodyStart | undefined): string => {
  if (start === undefined) return '';
  try {
    return printable(utf8.decode(start.bytes).replace(/\s+/g, ' ').trim());
  } catch {
    return 'binary data';
  }
};
