import { formatShortTime, LIMITS, printable, SourceError } from '@standin/contract';
import { formatFilter } from '@standin/exchange/search';
import type { CountFilter } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Logs, OfProject, ProjectIdentity, ProjectLog } from './backend.ts';

/** Receives one line for each read of a log. */
export type Audit = Pick<Logger, 'info' | 'warn'>;

/** The sender of the request that reads. */
export interface Reader {
  readonly via: 'page' | 'api';
  /** Resolves with the user's name, or with undefined if the API server does not report it. Never rejects. */
  readonly user: () => Promise<string | undefined>;
}

/** What a line says about a read. It never contains captured data. */
interface Read {
  readonly read: 'list' | 'stream' | 'count' | 'histogram' | 'values' | 'bodies' | 'request' | 'replays' | 'refusals';
  /** The ids of captured requests. */
  readonly requests?: readonly string[];
  readonly field?: string;
  readonly replay?: string;
  readonly filter?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly endpoint?: string | undefined;
}

/** Returns text from a request in a bounded length, without characters that could forge or hide a part of a line. */
const bounded = (text: string): string => {
  const shown = printable(text.slice(0, LIMITS.auditTextLengthMax));
  return shown.length > LIMITS.auditTextLengthMax || text.length > LIMITS.auditTextLengthMax
    ? `${shown.slice(0, LIMITS.auditTextLengthMax)}…`
    : shown;
};

/** Returns the text in RFC 3339, or undefined for an invalid time, which the log store rejects. */
const timeText = (us: number | undefined): string | undefined =>
  us === undefined || Number.isNaN(us) ? undefined : formatShortTime(us);

type Filter = Pick<OfProject<CountFilter>, 'search' | 'sinceUs' | 'untilUs' | 'endpoint'>;

const auditedFilter = ({ search, sinceUs, untilUs, endpoint }: Filter): Omit<Read, 'read'> => ({
  filter: search && bounded(formatFilter(search)),
  from: timeText(sinceUs),
  to: timeText(untilUs),
  endpoint: endpoint && bounded(endpoint),
});

const auditedProject = ({ namespace, name: project, uid: projectUid }: ProjectIdentity) => ({
  namespace,
  project,
  projectUid,
});

/** Records that a shared link was opened. Anyone can open a link, so the reader is the Share. */
export const recordOpenedLink = (
  audit: Audit,
  project: ProjectIdentity,
  { share, requestId }: { readonly share: string; readonly requestId: string },
): void =>
  audit.info(
    { via: 'link', share, ...auditedProject(project), read: 'request', requests: [bounded(requestId)] },
    'log read',
  );

/**
 * Wraps the logs of one request, so that each read is recorded before it returns data, with the user and the filter. Reads that
 * differ only in the page are recorded once.
 */
export const auditReads = (logs: Logs, audit: Audit, { via, user }: Reader): Logs => {
  /** Opens something of a project, and records a refusal. */
  const allowed = async <T>(project: ProjectIdentity, open: Promise<T>): Promise<T> => {
    try {
      return await open;
    } catch (error) {
      if (error instanceof SourceError && error.kind === 'Forbidden')
        audit.warn({ ...(await reader()), ...auditedProject(project) }, 'log read refused');
      throw error;
    }
  };
  const reader = async () => {
    const name = await user();
    return { via, user: name && bounded(name) };
  };
  return {
    // Numbers of requests are not captured data.
    requestsByHour: (projects, hours) => logs.requestsByHour(projects, hours),
    usage: (account, range) => logs.usage(account, range),
    open: async (project) => {
      const [log, who] = await allowed(project, Promise.all([logs.open(project), reader()]));
      const known = new Set<string>();
      return audited(log, (read) => {
        const key = JSON.stringify(read);
        if (known.has(key)) return;
        known.add(key);
        audit.info({ ...who, ...auditedProject(project), ...read }, 'log read');
      });
    },
    refusals: async (project) => {
      const [refusals, who] = await allowed(project, Promise.all([logs.refusals(project), reader()]));
      audit.info({ ...who, ...auditedProject(project), read: 'refusals' } satisfies Read & object, 'log read');
      return refusals;
    },
  };
};

const audited = (log: ProjectLog, record: (read: Read) => void): ProjectLog => {
  let isFollowed = false;
  const request = (id: string): void => record({ read: 'request', requests: [bounded(id)] });
  const replays = (replay: string | undefined, id?: string): void =>
    record({
      read: 'replays',
      ...(replay !== undefined && { replay: bounded(replay) }),
      ...(id !== undefined && { requests: [bounded(id)] }),
    });
  return {
    projectUid: log.projectUid,
    // Returns nothing. The read that follows is recorded.
    settle: (signal) => log.settle(signal),
    // What is read of it belongs to a count or a list.
    ...(log.own && { own: log.own }),
    // The summaries come from `summaries`, which has recorded the read.
    entries: (summaries) => log.entries(summaries),
    follow: (options) => {
      isFollowed = true;
      return log.follow(options);
    },
    summaries: (filter) => {
      record({ read: isFollowed ? 'stream' : 'list', ...auditedFilter(filter) });
      return log.summaries(filter);
    },
    count: (filter) => {
      record({ read: 'count', ...auditedFilter(filter) });
      return log.count(filter);
    },
    histogram: (filter, range) => {
      record({ read: 'histogram', ...auditedFilter(filter) });
      return log.histogram(filter, range);
    },
    distinct: (field, filter, options) => {
      record({ read: 'values', field: bounded(field), ...auditedFilter(filter) });
      return log.distinct(field, filter, options);
    },
    requestBodies: (keys, bodyBytesMax) => {
      record({ read: 'bodies', requests: keys.map(({ id }) => bounded(id)) });
      return log.requestBodies(keys, bodyBytesMax);
    },
    get: (id) => {
      request(id);
      return log.get(id);
    },
    row: (id) => {
      request(id);
      return log.row(id);
    },
    preview: (id, bodyBytesMax) => {
      request(id);
      return log.preview(id, bodyBytesMax);
    },
    previews: (summaries, bodyBytesMax) => {
      record({ read: 'bodies', requests: summaries.map(({ id }) => bounded(id)) });
      return log.previews(summaries, bodyBytesMax);
    },
    replays: {
      exchange: (replay, id) => {
        replays(replay, id);
        return log.replays.exchange(replay, id);
      },
      results: (replay, options) => {
        replays(replay);
        return log.replays.results(replay, options);
      },
      ofRequest: (id, limit) => {
        replays(undefined, id);
        return log.replays.ofRequest(id, limit);
      },
      counts: (replay) => {
        replays(replay);
        return log.replays.counts(replay);
      },
    },
  };
};
