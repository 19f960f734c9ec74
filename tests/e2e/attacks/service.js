// A payments service on Node's http.
'use strict';
const http = require('http');

const executed = [];
// What a later request on the same connection would take for its answer.
const stolen = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"stolen": "yes"}';

function answer(response, status, document) {
  const body = JSON.stringify(document);
  response.writeHead(status, {'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body)});
  response.end(body);
}

// Names the length of a body that this status cannot have, and sends it all the same, a little later.
function answerLate(response, status) {
  const socket = response.socket;
  socket.write(`HTTP/1.1 ${status} Late\r\nContent-Length: ${stolen.length}\r\n\r\n`);
  setTimeout(() => socket.write(stolen), 1);
}

const server = http.createServer((request, response) => {
  if (request.method !== 'POST') {
    if (request.url === '/executed') return answer(response, 200, executed);
    if (request.url.startsWith('/late/')) return answerLate(response, Number(request.url.split('/')[2]));
    return answer(response, 200, {target: request.url});
  }
  if (!request.url.startsWith('/v1/')) return answer(response, 404, {target: request.url});
  // Actions that take no body do not look for one.
  if (request.url === '/v1/cancel') return answer(response, 200, {target: request.url});
  if (request.url === '/v1/moved') return answer(response, 303, {target: request.url});
  request.resume();
  request.on('end', () => {
    if (request.url === '/v1/late') return answerLate(response, 204);
    const what = {target: request.url, who: request.headers.authorization || '', key: request.headers['idempotency-key'] || ''};
    executed.push(what);
    answer(response, 201, what);
  });
});
server.on('clientError', (error, socket) => socket.destroy());
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
