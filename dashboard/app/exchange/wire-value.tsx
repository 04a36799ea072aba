import { wireText } from '@standin/exchange/formats';

const CHARSET_TITLES = {
  'utf-8': 'Its bytes are UTF-8',
  'latin-1': 'Its bytes are not UTF-8: each is shown as the character of ISO 8859-1',
} as const;

/**
 * A name, value or target from the wire. Untrusted text is isolated, so that its direction does not affect the text around it. It is decoded as UTF-8
 * where possible.
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
