// node check.js DOCUMENT ANSWERS
//
// Is the document OpenAPI 3.1? Does every answer that the program gave (a line of JSON each: path,
// method, status, type, headers, body, sent) fit what the document says about it? And was every
// status that the document promises seen? Says what does not hold, a line each, and exits with 1.
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const [documentFile, answersFile] = process.argv.slice(2);
const document = JSON.parse(readFileSync(documentFile, 'utf8'));
const troubles = [];

const validated = await new Validator().validate(structuredClone(document));
if (!validated.valid) troubles.push(`the document is not valid: ${JSON.stringify(validated.errors)}`);
if (document.openapi !== '3.1.0') troubles.push(`it is ${document.openapi}`);

const ajv = new Ajv2020.default({ strict: false, allErrors: true, validateSchema: false });
addFormats.default(ajv);
ajv.addSchema(document, 'doc');

const pointer = (...parts) =>
  'doc#/' + parts.map((part) => encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');

function followed(node, ...at) {
  if (!node?.$ref) return [node, at];
  const parts = node.$ref.slice(2).split('/');
  return [parts.reduce((inner, part) => inner[part], document), parts];
}

function check(what, schema, value) {
  const fits = ajv.compile({ $ref: schema });
  if (!fits(value)) troubles.push(`${what}: ${ajv.errorsText(fits.errors)}: ${JSON.stringify(value)}`);
}

const seen = new Set();
for (const line of readFileSync(answersFile, 'utf8').split('\n').filter(Boolean)) {
  const answer = JSON.parse(line);
  const { path, method, status, type, headers, body, sent } = answer;
  const what = `${method} ${path} ${status}`;
  seen.add(what);
  const operation = document.paths[path]?.[method];
  const [response, at] = followed(operation?.responses?.[status], 'paths', path, method, 'responses', status);
  if (!response) {
    troubles.push(`${what} is not in the document: ${body}`);
    continue;
  }
  if (!response.content[type]) troubles.push(`${what} came as ${type}`);
  else check(what, pointer(...at, 'content', type, 'schema'), JSON.parse(body));
  for (const [name, header] of Object.entries(response.headers ?? {})) {
    if (followed(header)[0].required && !headers[name.toLowerCase()]) troubles.push(`${what} has no ${name}`);
  }
  if (sent && status < 300) {
    check(`what was sent to ${what}`,
      pointer('paths', path, method, 'requestBody', 'content', 'application/json', 'schema'), JSON.parse(sent));
  }
}

for (const [path, operations] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    if (method === 'parameters') continue;
    for (const status of Object.keys(operation.responses)) {
      if (!seen.has(`${method} ${path} ${status}`)) troubles.push(`${method} ${path} ${status} was never seen`);
    }
    const example = operation.requestBody?.content['application/json'].example;
    if (example) {
      check(`the example of ${method} ${path}`,
        pointer('paths', path, method, 'requestBody', 'content', 'application/json', 'schema'), example);
    }
  }
}

for (const trouble of troubles) console.log(trouble);
console.log(`${seen.size} answers looked at, ${troubles.length} troubles`);
process.exit(troubles.length === 0 && seen.size > 0 ? 0 : 1);
