import { DEFINITIONS, type Problem } from '@standin/crds';
import { ALWAYS_HIDDEN, type RedactionRules } from '@standin/exchange/redact';
import { getProject } from '../../src/projects/projects.ts';
import type { RequestName } from '../../src/resources/names.ts';
import type { DashboardContext } from '../../src/dashboard-context.ts';
import { createShare, isSharingInPlan } from '../../src/shares/create-share.ts';
import { capturedParts } from '../../src/captured/captured-bytes.ts';
import type { RedactedShare } from '../../src/workers/tasks.ts';
import { readRow } from '../exchange/read-exchange.server.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { toFormErrors } from '../ui/form-errors.ts';
import { filledLines } from '../ui/text-lines.ts';
import { LIFETIME_DEFAULT, LIFETIMES, RULE_FIELDS, type ShareAnswer, type ShareDialogData } from './share-data.ts';

type Context = Pick<DashboardContext, 'backend' | 'workers'>;

const redacted = async (
  { backend, workers }: Context,
  params: RequestName,
  rules?: RedactionRules,
): Promise<RedactedShare> => {
  const row = await readRow(backend, params);
  return workers.run('redactShare', { row, rules }, capturedParts(row));
};

const fieldLines = (form: FormData, field: string): ReturnType<typeof filledLines> => {
  const text = form.get(field);
  return typeof text === 'string' ? filledLines(text) : [];
};

/**
 * Returns rules as the text of a field with one rule per line. `*`, which matches any characters, replaces what a line cannot contain:
 * line breaks, and spaces at its ends. Otherwise, the form would show what the rules hide.
 */
const ruleText = (rules: readonly string[]): string =>
  rules.map((rule) => rule.replaceAll(/[\0\r\n]+|^[ \t]+|[ \t]+$/g, '*')).join('\n');

export const toRuleTexts = ({ headers, query, jsonPaths }: RedactionRules): ShareDialogData['rules'] => ({
  headers: ruleText(headers),
  query: ruleText(query),
  jsonPaths: ruleText(jsonPaths),
});

export const readRules = (form: FormData): RedactionRules => {
  const read = (field: string): string[] => fieldLines(form, field).map(({ text }) => text);
  return {
    headers: read(RULE_FIELDS.headers),
    query: read(RULE_FIELDS.query),
    jsonPaths: read(RULE_FIELDS.jsonPaths),
  };
};

export const loadShareDialog = async (context: Context, params: RequestName): Promise<ShareDialogData> => {
  const { backend } = context;
  const project = await getProject(backend, params);
  const { rules, exchange } = await redacted(context, params);
  return {
    kind: 'ready',
    isInPlan: await isSharingInPlan(backend, project),
    isLocal: backend.mode === 'local',
    alwaysHidden: ALWAYS_HIDDEN,
    rules: toRuleTexts(rules),
    preview: exchange,
  };
};

/** Uses the schema of a Share. */
const ruleProblems = (form: FormData, redact: RedactionRules): Problem[] => {
  const result = DEFINITIONS.Share.spec.shape.redact.safeParse(redact);
  return result.success
    ? []
    : result.error.issues.map(({ path: [list, index], message }) => {
        const path = `spec.redact.${String(list)}`;
        const line = fieldLines(form, path)[Number(index)];
        return { path, message: line === undefined ? message : `Line ${line.number} ${message}` };
      });
};

const refused = (message: string, problems: Parameters<typeof toFormErrors>[0] = []): ShareAnswer => {
  const { fields, form } = toFormErrors(problems, Object.values(RULE_FIELDS));
  return { kind: 'refused', message: [message, ...form].filter((text) => text !== '').join(' '), fields };
};

/** Returns what a Share with the form's rules shows. Uses the same function as the public page. */
export const previewShare = async (context: Context, params: RequestName, form: FormData): Promise<ShareAnswer> => {
  const rules = readRules(form);
  const problems = ruleProblems(form, rules);
  if (problems.length > 0) return refused('', problems);
  return { kind: 'preview', preview: (await redacted(context, params, rules)).exchange };
};

export const createShareFrom = async (context: Context, params: RequestName, form: FormData): Promise<ShareAnswer> => {
  const redact = readRules(form);
  const problems = ruleProblems(form, redact);
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
    return refused(refusalMessage(error));
  }
};
