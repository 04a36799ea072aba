import type { HeaderPair, LogRow, Method } from '@standin/contract';
import { seededRandom } from '../harness/seeded-random.ts';
import { testRow } from '../../gateway/src/record/spool/spool.testing.ts';

/** The fields that differ between kinds of traffic. */
type Exchange = Partial<LogRow> & { readonly requestBody: Buffer; readonly responseBody: Buffer };

const SEED = 7;
const NOTHING = Buffer.alloc(0);
/** The time span, ending now, in which the rows are received at regular intervals. */
const SPAN_MS = 24 * 60 * 60 * 1_000;
const PROJECTS = 20;
const CLIENTS = 400;
const AGENTS = [
  'Go-http-client/2.0',
  'curl/8.14.1',
  'okhttp/5.1.0',
  'python-requests/2.32.5',
  'axios/1.12.2',
  'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
  'GitHub-Hookshot/044aadd',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
] as const;
const EVENTS = ['charge.succeeded', 'charge.refunded', 'payout.paid', 'invoice.created', 'customer.updated'] as const;
const WORDS = 'order customer parcel refund delivery express paid open returned address invoice currency total'.split(
  ' ',
);

/**
 * Generates rows of realistic traffic: webhooks and JSON API calls with their own ids, lists, forms, forwarded calls, errors, and
 * uploads that cannot be compressed. The same number of rows always gives the same rows, except for the times and the ids that
 * contain them.
 */
export class MixedTraffic {
  readonly #random = seededRandom(SEED);
  readonly #rows: number;
  readonly #nowMs = Date.now();
  #made = 0;

  constructor(rows: number) {
    this.#rows = rows;
  }

  next(): LogRow {
    const receivedAtMs = this.#nowMs - SPAN_MS + (this.#made / this.#rows) * SPAN_MS;
    this.#made += 1;
    const { requestHeaders: own = [], ...exchange } = this.#exchange();
    const project = `project-${this.#below(PROJECTS)}`;
    const path = exchange.path ?? '/';
    const target = `/${project}-0123456789ab${path}${exchange.query === undefined ? '' : `?${exchange.query}`}`;
    const type = (exchange.responseHeaders ?? []).length > 0 ? [] : [['content-type', 'application/json'] as const];
    return testRow({
      id: this.#uuidv7(receivedAtMs),
      receivedAtUs: Math.round(receivedAtMs * 1_000),
      expiresAtS: Math.floor(this.#nowMs / 1_000) + 30 * 86_400,
      project,
      projectUid: `uid-of-${project}`,
      target,
      endpoint: path.split('/')[2] ?? 'root',
      endpointUid: `uid-of-${path.split('/')[2] ?? 'root'}`,
      gateway: `gateway-${this.#below(3)}`,
      clientAddress: `10.1.${this.#below(4)}.${this.#below(CLIENTS / 4)}`,
      requestHeaders: [...this.#headers(exchange.requestBody), ...own],
      responseHeaders: [...type, ['content-length', String(exchange.responseBody.length)]],
      responseBodyBytes: exchange.responseBody.length,
      durationUs: 200 + this.#below(2_000),
      requestUs: 50 + this.#below(400),
      ...exchange,
    });
  }

  #exchange(): Exchange {
    const kind = this.#below(100);
    if (kind < 40) return this.#webhook();
    if (kind < 65) return this.#list();
    if (kind < 75) return this.#form();
    if (kind < 90) return this.#forwarded();
    if (kind < 98) return this.#failed();
    return this.#upload();
  }

  #webhook(): Exchange {
    const type = this.#of(EVENTS);
    const event = {
      id: `evt_${this.#hex(24)}`,
      type,
      created: 1_790_000_000 + this.#made,
      livemode: false,
      data: {
        object: { id: `obj_${this.#hex(24)}`, amount: this.#below(100_000), currency: 'eur', note: this.#text(12) },
      },
      customer: { id: `cus_${this.#hex(14)}`, email: `user${this.#below(200_000)}@example.com` },
    };
    return {
      method: 'POST',
      path: '/v1/webhooks',
      status: 200,
      requestHeaders: [['x-signature', `t=${1_790_000_000 + this.#made},v1=${this.#hex(64)}`]],
      requestBody: Buffer.from(JSON.stringify(event)),
      responseBody: Buffer.from('{"received": true}'),
    };
  }

  #list(): Exchange {
    const items = Array.from({ length: 10 }, () => ({
      id: this.#hex(12),
      sku: `SKU-${this.#below(10_000)}`,
      name: this.#text(3),
      price: this.#below(10_000) / 100,
    }));
    return {
      method: 'GET',
      path: '/v1/orders',
      query: `page=${this.#below(500)}&limit=10`,
      status: 200,
      requestBody: NOTHING,
      responseBody: Buffer.from(JSON.stringify({ items, total: this.#below(5_000) })),
    };
  }

  #form(): Exchange {
    const form = `grant_type=refresh_token&client_id=web&refresh_token=${this.#hex(64)}`;
    const answer = { access_token: this.#hex(128), token_type: 'Bearer', expires_in: 3_600 };
    return {
      method: 'POST',
      path: '/v1/token',
      status: 200,
      requestBody: Buffer.from(form),
      responseBody: Buffer.from(JSON.stringify(answer)),
    };
  }

  #forwarded(): Exchange {
    const path = `/v1/customers/${this.#below(50_000)}`;
    const methods: readonly Method[] = ['PUT', 'PATCH', 'DELETE'];
    const body = { name: this.#text(2), address: { street: this.#text(2), zip: String(10_000 + this.#below(80_000)) } };
    return {
      method: this.#of(methods),
      path,
      status: 200,
      action: 'Forward',
      outcome: 'forwarded',
      upstreamUrl: `https://api.example.com${path}`,
      upstreamFirstByteUs: 5_000 + this.#below(80_000),
      requestBody: Buffer.from(JSON.stringify(body)),
      responseBody: Buffer.from(JSON.stringify({ id: this.#hex(24), ...body, updated: this.#nowMs + this.#made })),
    };
  }

  #failed(): Exchange {
    const status = this.#of([401, 404, 422, 500, 503]);
    const problem = { type: 'about:blank', status, title: this.#text(3), instance: `/errors/${this.#hex(16)}` };
    return {
      method: 'POST',
      path: '/v1/payments',
      status,
      requestBody: Buffer.from(JSON.stringify({ amount: this.#below(10_000), token: this.#hex(32) })),
      responseBody: Buffer.from(JSON.stringify(problem)),
    };
  }

  #upload(): Exchange {
    const bytes = Buffer.from(Array.from({ length: 1_024 + this.#below(7_168) }, () => this.#below(256)));
    return {
      method: 'POST',
      path: '/v1/files',
      status: 201,
      requestBody: bytes,
      responseBody: Buffer.from(JSON.stringify({ id: this.#hex(24), bytes: bytes.length })),
    };
  }

  #headers(body: Buffer): HeaderPair[] {
    const content: HeaderPair[] = [
      ['content-type', 'application/json'],
      ['content-length', String(body.length)],
    ];
    return [
      ['host', 'standin.example.com'],
      ['user-agent', this.#of(AGENTS)],
      ['accept', '*/*'],
      ['x-api-key', 'sha256:01234567'],
      ['traceparent', `00-${this.#hex(32)}-${this.#hex(16)}-01`],
      ['x-request-id', this.#hex(32)],
      ...(body.length > 0 ? content : []),
    ];
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #of<T>(values: readonly T[]): T {
    return values[this.#below(values.length)] as T;
  }

  #hex(digits: number): string {
    let text = '';
    while (text.length < digits) text += this.#below(0x1_0000_0000).toString(16).padStart(8, '0');
    return text.slice(0, digits);
  }

  #text(words: number): string {
    return Array.from({ length: words }, () => this.#of(WORDS)).join(' ');
  }

  #uuidv7(ms: number): string {
    const time = Math.floor(ms).toString(16).padStart(12, '0');
    const random = this.#hex(18);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`;
  }
}
