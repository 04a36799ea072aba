export interface ServerEvent {
  /** Empty: the event only moves the position. */
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Parses server-sent events (WHATWG HTML, section 9.2) from lines. */
export async function* serverEvents(lines: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let type = '';
  let data: string[] = [];
  let id: string | undefined;
  for await (const line of lines) {
    if (line === '') {
      if (data.length > 0 || id !== undefined) yield { type, data: data.join('\n'), id };
      type = '';
      data = [];
      id = undefined;
      continue;
    }
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'event') type = value;
    else if (field === 'data') data.push(value);
    else if (field === 'id') id = value;
  }
}
