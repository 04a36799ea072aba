import { wireText } from '@standin/logstore/formats';

const CHARSET_TITLES = {
  'utf-8': 'Its bytes are UTF-8',
  'latin-1': 'Its bytes are not UTF-8: each is shown as the character of ISO 8859-1',
} as const;

/**
 * A name, value or target from the wire. A stranger wrote it: it stays in its own run of text, whatever direction it asks for, and is
 * read as UTF-8 where it can be.
 */
export const WireValue = ({ latin1 }: { readonly latin1: string }) => {
  const { text, charset } = wireText(latin1);
  return (
    <>
      <bdi>{text}</bdi>
      {charset !== 'ascii' && (
        <span title={CHARSET_TITLES[charset]} className="ml-1.5 font-sans text-small text-muted">
          {charset === 'utf-8' ? 'UTF-8' : 'Latin-1'}
        </span>
      )}
    </>
  );
};
