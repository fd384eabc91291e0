/** The built daemon on a temporary data directory, and a proxy in front of it that can cut connections. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import type { ClientOptions } from '../src/index.js';

export const BINARY = resolve(process.env.OSTLER_BINARY ?? '../../target/debug/ostler');
/** Tries often, and for long enough on a busy machine. */
export const BACKOFF = { first: 20, longest: 100, tries: 300 };

/** A daemon that can be killed and started again at the same address. */
export class Daemon {
  #child: ChildProcess | undefined;
  url = '';
  gateway = '';
  token = '';

  private constructor(readonly place: string) {}

  static async start(): Promise<Daemon> {
    const daemon = new Daemon(await mkdtemp(join(tmpdir(), 'ostler-client-')));
    await mkdir(daemon.workspace);
    await writeFile(join(daemon.place, 'config.toml'), '[models]\ndefault = "demo:demo"\ndiscover = false\n');
    await daemon.restart();
    return daemon;
  }

  get workspace(): string {
    return join(this.place, 'work');
  }

  get data(): string {
    return join(this.place, 'data');
  }

  get options(): ClientOptions {
    return { url: this.url, token: this.token, backoff: BACKOFF };
  }

  /** What any `ostler` of this place is started with. */
  get arguments(): string[] {
    return ['--data-dir', this.data, '--config', join(this.place, 'config.toml')];
  }

  get env(): NodeJS.ProcessEnv {
    const { PATH, HOME } = process.env;
    return { PATH, HOME, OSTLER_GATEWAY_LISTEN: '127.0.0.1:0', OSTLER_GATEWAY_WORKSPACE: this.workspace };
  }

  /** Starts it, at the address that it had before. */
  async restart(): Promise<void> {
    const listen = this.url ? new URL(this.url).host : '127.0.0.1:0';
    const child = spawn(BINARY, ['serve', '--listen', listen, ...this.arguments], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...this.env, RUST_LOG: 'error' },
    });
    this.#child = child;
    child.stdout.setEncoding('utf8');
    let said = '';
    for await (const text of child.stdout) {
      said += text;
      if (said.includes('the token is in')) break;
    }
    this.url = /ready at (\S+)/.exec(said)?.[1] ?? assert.fail(`the daemon said ${said}`);
    this.gateway = /gateway is at (\S+)/.exec(said)?.[1] ?? assert.fail(`the daemon said ${said}`);
    this.token = (await readFile(join(this.data, 'token'), 'utf8')).trim();
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    await rm(this.place, { recursive: true, force: true });
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
}

/** Passes bytes on, until it is told to cut. */
export class Proxy {
  /** Cut each connection when so many bytes have come from the daemon. */
  limit = Infinity;
  connections = 0;
  readonly #sockets = new Set<Socket>();

  private constructor(
    readonly server: Server,
    readonly daemon: Daemon,
  ) {}

  static async start(daemon: Daemon): Promise<Proxy> {
    const server = createServer();
    const proxy = new Proxy(server, daemon);
    server.on('connection', (socket) => proxy.#pass(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get options(): ClientOptions {
    return { ...this.daemon.options, url: `http://${this.host}` };
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    this.server.close();
    this.cut();
  }

  #pass(near: Socket): void {
    this.connections += 1;
    const { hostname, port, host } = new URL(this.daemon.url);
    const far = connect(Number(port), hostname);
    let left = this.limit;
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    // The daemon takes no request that is meant for another host.
    near.on('data', (data: Buffer) => far.write(data.toString('latin1').replace(this.host, host), 'latin1'));
    far.on('data', (data: Buffer) => {
      near.write(data.subarray(0, left));
      left -= data.length;
      if (left <= 0) near.end(() => near.destroy());
    });
  }
}
