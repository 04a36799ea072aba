import type { ExpectationPhase } from '@standin/contract';
import type { Tone } from '../ui/badge.tsx';

export const TONE_OF_PHASE: Readonly<Record<ExpectationPhase, Tone>> = {
  Pending: '1xx',
  Open: '3xx',
  Met: '2xx',
  Unmet: '5xx',
  Undetermined: '4xx',
};
