import { CircleAlert, Info, Lock } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

const LOOKS = {
  info: { icon: <Info aria-hidden />, className: 'bg-panel border-line [&_svg]:text-muted' },
  locked: { icon: <Lock aria-hidden />, className: 'bg-3xx-chip border-line [&_svg]:text-3xx' },
  bad: { icon: <CircleAlert aria-hidden />, className: 'bg-5xx-chip border-line [&_svg]:text-5xx' },
} as const;

export interface NoticeProps {
  readonly look: keyof typeof LOOKS;
  readonly children: ReactNode;
  /** Whether screen readers announce the notice as soon as it appears. */
  readonly alert?: boolean;
}

/** A message in a box with an icon: information, a restriction or an error. */
export const Notice = ({ look, children, alert = false }: NoticeProps) => (
  <div
    {...(alert && { role: 'alert' })}
    className={classNames(
      'flex gap-2 rounded border px-3 py-2 [&_svg]:mt-0.5 [&_svg]:size-4 [&_svg]:shrink-0',
      LOOKS[look].className,
    )}
  >
    {LOOKS[look].icon}
    <div className="min-w-0 break-words">{children}</div>
  </div>
);
