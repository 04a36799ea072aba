import type { Readiness } from '../../src/resources/resource-view.ts';
import { Badge } from './badge.tsx';

const TONES = { ready: '2xx', waiting: '1xx', broken: '5xx' } as const;

export const ReadinessBadge = ({ readiness: { state, reason, message } }: { readonly readiness: Readiness }) => (
  <span title={message} className="inline-flex align-middle">
    <Badge tone={TONES[state]}>{reason}</Badge>
  </span>
);
