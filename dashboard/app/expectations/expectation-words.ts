import type { ExpectationPhase } from '@standin/contract';
import type { ExpectationView } from '../../src/expectations/expectation-view.ts';
import type { Tone } from '../ui/badge.tsx';

export const TONE_OF_PHASE: Readonly<Record<ExpectationPhase, Tone>> = {
  Pending: '1xx',
  Open: '3xx',
  Met: '2xx',
  Unmet: '5xx',
  Undetermined: '4xx',
};

const number = (value: number): string => value.toLocaleString('en');

/** Returns how many requests are expected: `none`, `exactly 1`, `at least 2`, `1 to 3`. */
export const countInWords = ({ min = 0, max }: ExpectationView['count']): string => {
  if (max === undefined) return `at least ${number(min)}`;
  if (max === 0) return 'none';
  if (min === max) return `exactly ${number(max)}`;
  return min === 0 ? `at most ${number(max)}` : `${number(min)} to ${number(max)}`;
};
