import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, startServer, versionOf } from './children.ts'
import type { Peer } from './peer.ts'

const MODULE = '/usr/lib/nginx/modules/ngx_nchan_module.so'

export const nchan: Peer = {
  name: 'nginx + nchan',
  acknowledged: 'in memory only',
  install: 'apt-get install nginx-light libnginx-mod-nchan',
  appends: false,
  delivers: true,
  async start(dir) {
    const version = versionOf('nginx', '-v')
    if (version === null || !existsSync(MODULE)) return null
    const port = await freePort()
    const file = join(dir, 'nginx.conf')
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map(name => `${name}_temp_path ${dir}/${name};`)
      .join(' ')
    writeFileSync(
      file,
      `load_module ${MODULE};\n` +
        `${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; daemon off; pid ` +
        `${dir}/nginx.pid; error_log ${dir}/error.log;\n` +
        'events { worker_connections 4096; }\n' +
        'http {\n' +
        `  access_log off; ${temporary} keepalive_requests 1000000; tcp_nodelay on; ` +
        'nchan_message_buffer_length 200;\n' +
        '  server {\n' +
        `    listen 127.0.0.1:${port};\n` +
        '    location = /pub { nchan_publisher; nchan_channel_id bench; }\n' +
        '    location = /sub { nchan_subscriber eventsource; nchan_channel_id bench; ' +
        'nchan_subscriber_first_message newest; }\n' +
        '  }\n' +
        '}\n',
    )
    const { pid, stop } = await startServer('nginx', ['-e', `${dir}/error.log`, '-c', file, '-p', dir], port)
    return {
      version: version.replace(/^.*nginx\//, ''),
      spec: { kind: 'http', port, headers: {}, post: ['/pub'], field: null, get: '/sub' },
      pids: [pid],
      stop,
    }
  },
}
