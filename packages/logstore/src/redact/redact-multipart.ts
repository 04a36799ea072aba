import type { Redactor } from './redactor.ts';

export interface MultipartOptions {
  /** The Content-Type, with the boundary. */
  readonly type: string;
  readonly isPrefix: boolean;
  /** Redacts the text of a part by its own type; undefined: it cannot be read. */
  readonly redactPart: (redactor: Redactor, text: string, type: string, isPrefix: boolean) => string | undefined;
}

const WITHHELD = '[not shown: it cannot be looked through for secrets]';

/** `multipart/form-data` and its kin: a field is hidden by its name, a file looked through by its type. `undefined` where it is none. */
export const redactMultipart = (redactor: Redactor, text: string, options: MultipartOptions): string | undefined => {
  const [, quoted, plain] = /boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;,"]{1,200}))/i.exec(options.type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const delimiter = `--${boundary}`;
  const [preamble = '', ...parts] = text.split(delimiter);
  const isClosed = parts.at(-1)?.startsWith('--') === true;
  if (preamble.trim() !== '' || parts.length === 0 || (!isClosed && !options.isPrefix)) return undefined;
  const shown = parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    if (isClosed && isLast) return part.slice(0, 2);
    return redactPart(redactor, part, { ...options, isPrefix: options.isPrefix && isLast });
  });
  return ['', ...shown].join(delimiter);
};

const redactPart = (redactor: Redactor, part: string, { isPrefix, redactPart: byType }: MultipartOptions): string => {
  const [, head, body, end] = /^(\r?\n[^]*?\r?\n\r?\n)([^]*?)(\r?\n)?$/.exec(part) ?? [];
  // A part that has no head has nothing that could be named.
  if (head === undefined || body === undefined) return `\r\n${WITHHELD}\r\n`;
  const name = /content-disposition:[^\r\n]*?\bname="?([^"\r\n;]*)/i.exec(head)?.[1] ?? '';
  const type = /content-type:\s*([^\r\n]*)/i.exec(head)?.[1] ?? 'text/plain';
  const encoding = /content-transfer-encoding:\s*([^\r\n]*)/i.exec(head)?.[1] ?? 'binary';
  const shownHead = redactor.text(head, 'utf8');
  if (body !== '' && redactor.hidesField(name))
    return `${shownHead}${redactor.hide('field', name, body, 'utf8')}${end ?? ''}`;
  const shown = /^(?:7bit|8bit|binary)\s*$/i.test(encoding) ? byType(redactor, body, type, isPrefix) : undefined;
  return `${shownHead}${shown ?? WITHHELD}${end ?? ''}`;
};
