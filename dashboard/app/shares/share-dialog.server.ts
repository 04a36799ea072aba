import { DEFINITIONS } from '@standin/crds';
import { ALWAYS_HIDDEN, type RedactionRules } from '@standin/exchange/redact';
import { getProject } from '../../src/projects/projects.ts';
import type { RequestName } from '../../src/resources/names.ts';
import type { DashboardContext } from '../../src/dashboard-context.ts';
import { createShare, isSharingInPlan } from '../../src/shares/create-share.ts';
import { capturedOf } from '../../src/captured/captured-bytes.ts';
import type { RedactedShare } from '../../src/workers/tasks.ts';
import { readRow } from '../exchange/read-exchange.server.ts';
import { refusalOf } from '../../src/pages/failures.ts';
import { errorsOf } from '../ui/form-errors.ts';
import { LIFETIME_DEFAULT, LIFETIMES, RULE_FIELDS, type ShareAnswer, type ShareDialogData } from './share-data.ts';

type Context = Pick<DashboardContext, 'backend' | 'workers'>;

const redacted = async (
  { backend, workers }: Context,
  params: RequestName,
  rules?: RedactionRules,
): Promise<RedactedShare> => {
  const row = await readRow(backend, params);
  return workers.run('redactShare', { row, rules }, capturedOf(row));
};

const linesOf = (form: FormData, field: string): string[] => {
  const text = form.get(field);
  return typeof text === 'string'
    ? text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
    : [];
};

const rulesOf = (form: FormData): RedactionRules => ({
  headers: linesOf(form, RULE_FIELDS.headers),
  query: linesOf(form, RULE_FIELDS.query),
  jsonPaths: linesOf(form, RULE_FIELDS.jsonPaths),
});

export const loadShareDialog = async (context: Context, params: RequestName): Promise<ShareDialogData> => {
  const { backend } = context;
  const project = await getProject(backend, params);
  const { rules, exchange } = await redacted(context, params);
  return {
    kind: 'ready',
    isInPlan: await isSharingInPlan(backend, project),
    isLocal: backend.mode === 'local',
    alwaysHidden: ALWAYS_HIDDEN,
    rules: {
      headers: rules.headers.join('\n'),
      query: rules.query.join('\n'),
      jsonPaths: rules.jsonPaths.join('\n'),
    },
    preview: exchange,
  };
};

/** Returns the problems that the schema of a Share finds in these rules. */
const problemsOf = (redact: RedactionRules) => {
  const result = DEFINITIONS.Share.spec.shape.redact.safeParse(redact);
  return result.success
    ? []
    : result.error.issues.map(({ path: [list, index], message }) => ({
        path: `spec.redact.${String(list)}`,
        message: typeof index === 'number' ? `Line ${index + 1} ${message}` : message,
      }));
};

const refused = (message: string, problems: Parameters<typeof errorsOf>[0] = []): ShareAnswer => {
  const { fields, form } = errorsOf(problems, Object.values(RULE_FIELDS));
  return { kind: 'refused', message: [message, ...form].filter((text) => text !== '').join(' '), fields };
};

/** Returns what a Share with the form's rules shows. Uses the same function as the public page. */
export const previewShare = async (context: Context, params: RequestName, form: FormData): Promise<ShareAnswer> => {
  const rules = rulesOf(form);
  const problems = problemsOf(rules);
  if (problems.length > 0) return refused('', problems);
  return { kind: 'preview', preview: (await redacted(context, params, rules)).exchange };
};

export const createShareFrom = async (context: Context, params: RequestName, form: FormData): Promise<ShareAnswer> => {
  const redact = rulesOf(form);
  const problems = problemsOf(redact);
  if (problems.length > 0) return refused('', problems);
  const wanted = form.get('lifetime') ?? LIFETIME_DEFAULT;
  const lifetime = LIFETIMES.find(({ value }) => value === wanted);
  if (lifetime === undefined) return refused('Choose a lifetime.');
  const { namespace, project, id: requestId } = params;
  try {
    const result = await createShare(context, { namespace, project, requestId, lifetimeMs: lifetime.ms, redact });
    if (result.ok) {
      const { path, expiresAt, isAccepted } = result;
      return { kind: 'created', path, expiresAt, isAccepted };
    }
    return result.reason === 'Invalid' ? refused('', result.problems) : refused(result.message);
  } catch (error) {
    return refused(refusalOf(error));
  }
};
