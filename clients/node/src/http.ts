import * as http from 'node:http';
import * as https from 'node:https';

export type HeaderPairs = [string, string][];

export interface WireAnswer {
  status: number;
  headers: HeaderPairs;
  body: Buffer;
}

export interface WireRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** No answer came. `sent`: a byte of the request may have left, so that it may have been executed. */
export class NoAnswer extends Error {
  constructor(readonly sent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

export function header(headers: HeaderPairs, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return headers.find(([each]) => each.toLowerCase() === wanted)?.[1];
}

function pairs(raw: string[]): HeaderPairs {
  const all: HeaderPairs = [];
  for (let at = 0; at + 1 < raw.length; at += 2) all.push([raw[at] as string, raw[at + 1] as string]);
  return all;
}

const longestTimer = 2 ** 31 - 1; // setTimeout takes anything longer for 1 ms

/** One try: a whole answer, or NoAnswer. Redirects are not followed: the server has had the request. */
export function send(request: WireRequest): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    let sent = false;
    let call: http.ClientRequest | undefined;
    const timer = setTimeout(() => fail(new Error(`no answer within ${request.timeoutMs} ms`)), Math.min(request.timeoutMs, longestTimer));
    const aborted = () => fail(request.signal?.reason ?? new Error('aborted'));
    function done(): void {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', aborted);
    }
    function fail(cause: unknown): void {
      done();
      reject(new NoAnswer(sent, cause));
      call?.destroy();
    }
    if (request.signal?.aborted) return aborted();
    request.signal?.addEventListener('abort', aborted, { once: true });
    try {
      const url = new URL(request.url);
      const transport = url.protocol === 'https:' ? https : http;
      call = transport.request(url, { method: request.method, headers: request.headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', fail);
        answer.on('aborted', () => fail(new Error('the answer was cut off')));
        answer.on('end', () => {
          if (!answer.complete) return fail(new Error('the answer was cut off'));
          // Below 200 there is more to come, or another protocol begins.
          if ((answer.statusCode ?? 0) < 200) return fail(new Error(`${answer.statusCode} is no answer`));
          done();
          resolve({ status: answer.statusCode ?? 0, headers: pairs(answer.rawHeaders), body: Buffer.concat(chunks) });
        });
      });
    } catch (error) {
      return fail(error); // what cannot be sent was not sent
    }
    call.on('socket', (socket) => {
      // A socket in use writes at once; a new one when it is connected (TLS: when the handshake is over).
      if (!socket.connecting) sent = true;
      else socket.once(request.url.startsWith('https:') ? 'secureConnect' : 'connect', () => { sent = true; });
    });
    call.on('error', fail);
    call.on('upgrade', (answer, socket) => {
      socket.destroy();
      fail(new Error(`${answer.statusCode} is no answer`));
    });
    call.end(request.body);
  });
}
