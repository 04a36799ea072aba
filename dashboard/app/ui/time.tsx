import { useSyncExternalStore } from 'react';

const nothing = (): (() => void) => () => undefined;
/** Returns false on the server and during hydration, because both must render the same HTML. */
export const useHydrated = (): boolean =>
  useSyncExternalStore(
    nothing,
    () => true,
    () => false,
  );

const pad = (value: number, length = 2): string => String(value).padStart(length, '0');

const inUtc = (date: Date): string => `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
const inLocal = (date: Date): string =>
  `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ` +
  `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;

export interface TimeProps {
  /** A time in RFC 3339. */
  readonly at: string;
  /** The user's choice. The server does not know the local time zone and shows UTC. */
  readonly zone: 'local' | 'utc';
}

export const Time = ({ at, zone }: TimeProps) => {
  const hydrated = useHydrated();
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <>{at}</>;
  return (
    <time dateTime={at} title={at} className="tabular-nums whitespace-nowrap">
      {hydrated && zone === 'local' ? inLocal(date) : inUtc(date)}
    </time>
  );
};
