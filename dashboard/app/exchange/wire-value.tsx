import { wireText } from '@standin/exchange/formats';

const CHARSET_TITLES = {
  'utf-8': 'Decoded as UTF-8',
  'latin-1': 'Not valid UTF-8, so decoded as ISO 8859-1',
} as const;

/**
 * Shows a name, value or target from the wire, decoded as UTF-8 where possible. Untrusted text is isolated so that its direction
 * cannot affect the surrounding text.
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
