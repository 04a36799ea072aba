/** Small clients that send what the code under test of the rebuilt suites sends. */

export interface Service {
  readonly url: string;
  readonly apiKey: string;
}

interface SendOptions {
  readonly body?: string | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const send = async (
  { url, apiKey }: Service,
  method: string,
  path: string,
  { body, headers = {}, timeoutMs = 30_000 }: SendOptions = {},
): Promise<{ readonly status: number; readonly text: string }> => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'x-api-key': apiKey, ...headers },
    body: body ?? null,
    signal: AbortSignal.timeout(timeoutMs),
  });
  return { status: response.status, text: await response.text() };
};

/** Posts texts as a thread: each replies to the one before. */
export const postThread = async (service: Service, texts: readonly string[]): Promise<void> => {
  let parent: string | undefined;
  for (const status of texts) {
    const { text } = await send(service, 'POST', '/api/v1/statuses', {
      body: JSON.stringify({ status, in_reply_to_id: parent }),
    });
    parent = (JSON.parse(text) as { id: string }).id;
  }
};

/** Returns a function that receives messages. It looks each sender up once, and replies later, to those for `congestionPoint`. */
export const messageHandler = (
  service: Service,
  congestionPoint: string,
): ((message: { readonly sender: string; readonly congestionPoint: string }) => Promise<void>) => {
  const known = new Map<string, string>();
  return async (message) => {
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    const { text } = await send(service, 'POST', '/oauth/token', { body });
    const headers = { authorization: `Bearer ${(JSON.parse(text) as { access_token: string }).access_token}` };
    if (!known.has(message.sender)) {
      const participant = await send(service, 'GET', `/participants/${message.sender}`, { headers });
      known.set(message.sender, participant.text);
    }
    if (message.congestionPoint !== congestionPoint) return;
    const reply = `<Reply to="${message.sender}" point="${message.congestionPoint}"/>`;
    setTimeout(() => void send(service, 'POST', '/message', { headers, body: reply }));
  };
};

/** Returns a new access token. */
export const refreshToken = async (service: Service, clientId: string, secret: string): Promise<string> => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret });
  const { text } = await send(service, 'POST', '/refresh', { body });
  return (JSON.parse(text) as { access_token: string }).access_token;
};

/**
 * Creates objects. After each attempt that gets no response in time, asks which of them exist, and tries again with the others.
 * Returns the paths of those that do not exist in the end.
 */
export const createObjects = async (
  service: Service,
  paths: readonly string[],
  { retries, timeoutMs }: { readonly retries: number; readonly timeoutMs: number },
): Promise<readonly string[]> => {
  let missing = paths;
  for (let attempt = 0; attempt <= retries; attempt++) {
    const body = JSON.stringify(missing);
    const isDone = await send(service, 'POST', '/v1/batch/objects', { body, timeoutMs }).then(
      () => true,
      () => false,
    );
    if (isDone) return [];
    const found = await Promise.all(missing.map((path) => send(service, 'GET', `/v1/objects/${path}`)));
    missing = missing.filter((_, index) => found[index]?.status === 404);
  }
  return missing;
};

/** Reports a failed build later, with its log. Does not wait. */
export const reportBuild = (service: Service, repository: string, log: string): void => {
  const body = JSON.stringify({ name: 'build', conclusion: 'failure', output: { text: log } });
  setTimeout(() => void send(service, 'POST', `/repos/${repository}/check-runs`, { body }));
};
