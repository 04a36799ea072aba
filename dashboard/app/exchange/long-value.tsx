import type { ReactNode } from 'react';

/** Longer text fills more than about eight lines of a column. */
const SHOWN_CHARS_MAX = 400;

interface LongValueProps {
  readonly label: string;
  /** The number of characters of the text. */
  readonly length: number;
  readonly children: ReactNode;
}

/** Shows captured text of any length. Long text scrolls, so that it does not hide what follows. */
export const LongValue = ({ label, length, children }: LongValueProps) =>
  length <= SHOWN_CHARS_MAX ? (
    children
  ) : (
    <span tabIndex={0} role="group" aria-label={label} className="block max-h-36 overflow-y-auto">
      {children}
    </span>
  );
