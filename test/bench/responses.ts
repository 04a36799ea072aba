import type { ResponseConfig } from '@standin/contract';
import { json } from '../torture/stand.ts';
import { postText, settled, startStandin, type Contender } from './contenders.ts';
import { MEASURED_ENV, measureDelayed } from './delayed.ts';
import { printMeasurements, printTable } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { roundLimit, medianRound, runRound, type Round } from './rounds.ts';
import { TARGETS } from './targets.ts';

const ROUNDS = 5;
/** The results of these rounds are discarded, because just-in-time compilers need time. */
const WARM_UPS = 2;
const CONDITIONAL_RESPONSES = 8;
const PLAIN = 'literal path';
/** The minimum ratios of requests/s to those of a literal path. */
const RATIOS_MIN: Readonly<Record<string, number>> = {
  'path parameter': TARGETS.responses.pathParameterMin,
  'eight responses with conditions': TARGETS.responses.conditionsMin,
  'template with three expressions': TARGETS.responses.templateMin,
  'a CEL expression': TARGETS.responses.expressionMin,
};

const body = JSON.stringify({ id: 1001, note: 'x'.repeat(800) });

/** Makes a body of the same size. */
const template = `{"id": \${request.json.a}, "order": "\${path.id}", "plan": \${request.headers["x-plan"]}, "note": "${'x'.repeat(770)}"}`;

/** Conditions on a header, of which only the last response's is met. */
const responses: readonly ResponseConfig[] = Array.from({ length: CONDITIONAL_RESPONSES }, (_, index) => ({
  name: `r${index}`,
  pathParams: [],
  queryParams: [],
  headers: [{ name: 'x-plan', type: 'Exact', value: `plan-${index}` }],
  mock: { status: 200, headers: [['content-type', 'application/json']], body, bodyEncoding: 'utf8' },
}));

/** A condition on the body. */
const expression: ResponseConfig = {
  name: 'expression',
  pathParams: [],
  headers: [],
  queryParams: [],
  cel: 'request.json.a == 1',
  mock: { status: 200, headers: [['content-type', 'application/json']], body, bodyEncoding: 'utf8' },
};

/** Compares requests that one gateway answers in different ways, in turn. */
export const benchResponses = async ({ seconds }: BenchOptions): Promise<boolean> => {
  const stand = await startStandin('process', MEASURED_ENV);
  try {
    const action = json(body, { headers: [['content-type', 'application/json']] });
    await stand.publish(
      { slug: '/plain/orders', method: 'POST', action },
      { slug: '/orders/{id}', method: 'POST', action },
      { slug: '/plans', method: 'POST', action, responses },
      { slug: '/templates/{id}', method: 'POST', action: { ...action, body: template, template: 'CEL' } },
      { slug: '/expressions', method: 'POST', action, responses: [expression] },
    );
    const requestText = (path: string): string =>
      postText(`/${stand.own.uri}${path}`, `x-api-key: ${stand.own.key}\r\nx-plan: plan-7\r\n`, '{"a": 1}');
    const paths = {
      [PLAIN]: '/plain/orders',
      'path parameter': '/orders/1001',
      'eight responses with conditions': '/plans',
      'template with three expressions': '/templates/1001',
      'a CEL expression': '/expressions',
    };
    const contenders = Object.entries(paths).map(([name, path]): Contender => ({
      name,
      pid: stand.gateway.pid,
      port: stand.port,
      request: requestText(path),
      settle: () => settled(stand),
      countRows: undefined,
      stop: () => Promise.resolve(),
    }));
    const rounds = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]));
    for (let turn = 0; turn < WARM_UPS + ROUNDS; turn += 1) {
      for (const contender of contenders) {
        const round = await runRound(contender, { seconds });
        if (turn >= WARM_UPS) rounds.get(contender.name)?.push(round);
      }
    }
    const results = [...rounds].map(([name, own]) => ({ name, round: medianRound(own) }));
    printTable(
      results.map(({ name, round }) => ({
        name,
        'requests/s': Math.round(round.perSecond),
        'CPU µs': round.cpuMicrosPerRequest.toFixed(1),
        limit: roundLimit(round),
      })),
    );
    const plain = results[0]?.round.perSecond ?? 0;
    const measurements = results.slice(1).map(({ name, round }) => {
      const min = RATIOS_MIN[name] ?? 1;
      const ratio = round.perSecond / plain;
      return { what: name, measured: `${ratio.toFixed(2)} × ${PLAIN}`, target: `≥ ${min}`, met: ratio >= min };
    });
    const delayed = await measureDelayed(stand, requestText(paths[PLAIN]));
    printMeasurements([...measurements, ...delayed]);
    return [...measurements, ...delayed].every(({ met }) => met);
  } finally {
    await stand[Symbol.asyncDispose]();
  }
};
