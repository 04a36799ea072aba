import { ownMember } from '@standin/contract';
import { Ban, CircleCheck, CircleDashed, CircleX, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

/** The color of a state. It is the color of an HTTP status class or, for `none`, of a missing response. */
export type Tone = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'none';

const TONES: Readonly<Record<Tone, string>> = {
  '1xx': 'text-1xx bg-1xx-chip',
  '2xx': 'text-2xx bg-2xx-chip',
  '3xx': 'text-3xx bg-3xx-chip',
  '4xx': 'text-4xx bg-4xx-chip',
  '5xx': 'text-5xx bg-5xx-chip',
  none: 'text-none bg-none-chip',
};

/** Icons by tone, so that color is not the only indicator. */
const ICONS: Readonly<Record<Tone, ReactNode>> = {
  '1xx': <CircleDashed aria-hidden />,
  '2xx': <CircleCheck aria-hidden />,
  '3xx': null,
  '4xx': <TriangleAlert aria-hidden />,
  '5xx': <CircleX aria-hidden />,
  none: <Ban aria-hidden />,
};

export interface BadgeProps {
  readonly tone: Tone;
  readonly icon?: boolean;
  readonly children: ReactNode;
  readonly className?: string;
}

export const Badge = ({ tone, icon = true, children, className }: BadgeProps) => (
  <span
    className={classNames(
      'inline-flex h-5 items-center align-middle gap-1 rounded-sm px-1.5 text-small whitespace-nowrap tabular-nums [&_svg]:size-3',
      TONES[tone],
      className,
    )}
  >
    {icon && ICONS[tone]}
    {children}
  </span>
);

/** Shows a status in the color of its class. 0 means that no response was recorded. */
export const StatusBadge = ({ status }: { readonly status: number }) => (
  <Badge tone={statusTone(status)} icon={status === 0 || status >= 400} className="font-mono">
    {status === 0 ? 'no response' : status}
  </Badge>
);

const statusTone = (status: number): Tone => {
  const tone = `${Math.floor(status / 100)}xx`;
  return Object.hasOwn(TONES, tone) ? (tone as Tone) : 'none';
};

const METHOD_HUES: Readonly<Record<string, string>> = {
  GET: 'text-get',
  POST: 'text-post',
  PUT: 'text-put',
  PATCH: 'text-patch',
  DELETE: 'text-delete',
};

export const MethodName = ({ method }: { readonly method: string }) => (
  <span className={classNames('font-mono text-small font-medium', ownMember(METHOD_HUES, method) ?? 'text-other')}>
    {method}
  </span>
);
