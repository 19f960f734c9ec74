// stripe-node against a gateway: every error of ours is an error there, of the class that its users catch.
// stripe_node.mjs PORT PROFILE; the upstream behind is sdk_test.cpp's.
import assert from 'node:assert/strict';
import Stripe from 'stripe';

const [port, profile] = [process.argv[2], process.argv[3]];
const errors = Stripe.errors;
const is_stripe = profile === 'stripe';

function sdk(credential = 'secret-of-a', retries = 0) {
  return new Stripe(credential, { host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries: retries, telemetry: false });
}
const stripe = sdk();
const key = (name) => ({ idempotencyKey: `stripe-node-${profile}-${name}` });

async function throws(name, call, expected) {
  let result;
  try {
    result = await call();
  } catch (error) {
    const { type, statusCode, code, rawType } = error;
    const seen = { type, statusCode, code, rawType };
    assert.deepEqual(seen, expected, name);
    assert.ok(error instanceof errors[expected.type], name);
    assert.ok(error.message.length > 5, name);
    assert.equal(error.requestId, is_stripe ? error.headers['pawl-request-id'] : undefined, name);
    assert.equal(error.headers['stripe-should-retry'], is_stripe ? error.headers['pawl-should-retry'] : undefined, name);
    console.log(`ok ${profile} ${name}: ${type} ${statusCode} ${code}`);
    return error;
  }
  assert.fail(`${name}: taken for a result: ${JSON.stringify(result)}`);
}
const api = (statusCode, code, rawType = 'api_error') => ({ type: 'StripeAPIError', statusCode, code, rawType });

const paid = await stripe.charges.create({ amount: 10 }, key('reuse'));
assert.equal(paid.id, 'ch_1');
const reused = await throws('reuse', () => stripe.charges.create({ amount: 11 }, key('reuse')), {
  type: is_stripe ? 'StripeIdempotencyError' : 'StripeAPIError',
  statusCode: is_stripe ? 400 : 422,
  code: 'key-reused',
  rawType: 'idempotency_error',
});
assert.equal(reused.headers['pawl-should-retry'], 'false');

const first = stripe.charges.create({ amount: 10, description: 'held' }, key('held'));
await stripe.charges.retrieve('arrived');
await throws('in flight', () => stripe.charges.create({ amount: 10, description: 'held' }, key('held')), api(409, 'in-flight', 'idempotency_error'));
const patient = sdk('secret-of-a', 5).charges.create({ amount: 10, description: 'held' }, key('held'));
await stripe.charges.retrieve('release');
assert.equal((await first).id, 'ch_1');
assert.equal((await patient).id, 'ch_1');
assert.equal((await patient).lastResponse.headers['idempotent-replayed'], 'true');

await throws('lost', () => stripe.charges.create({ amount: 10, description: 'reset' }, key('lost')), api(502, 'outcome-unknown'));
const held = await throws('held', () => stripe.charges.create({ amount: 10, description: 'reset' }, key('lost')), api(409, 'outcome-unknown', 'idempotency_error'));
assert.equal(held.headers['pawl-should-retry'], 'false', 'only a person can decide');
assert.equal(held.headers['retry-after'], undefined);

await throws('key invalid', () => stripe.charges.create({ amount: 10 }, { idempotencyKey: 'short' }), {
  type: 'StripeInvalidRequestError', statusCode: 400, code: 'key-invalid', rawType: 'invalid_request_error',
});
await throws('unknown caller', () => sdk('wrong').charges.create({ amount: 10 }, key('caller')), {
  type: 'StripeAuthenticationError', statusCode: 401, code: 'unauthenticated', rawType: 'authentication_error',
});
await stripe.refunds.create({ charge: 'ch_1' }, key('limit-1'));
await throws('limit', () => stripe.refunds.create({ charge: 'ch_2' }, key('limit-2')), {
  type: 'StripeRateLimitError', statusCode: 429, code: 'rate-limited', rawType: 'rate_limit_error',
});
await throws('too large', () => stripe.customers.create({ description: 'x'.repeat(500) }, key('size')), api(413, 'body-too-large', 'invalid_request_error'));
await throws('unguarded', () => stripe.charges.retrieve('garbage'), api(502, 'bad-upstream-response'));
await throws('our own path', () => stripe.rawRequest('GET', '/_pawl/v1/nothing'), {
  type: 'StripeInvalidRequestError', statusCode: 404, code: 'not-found', rawType: 'invalid_request_error',
});

// Executed and answered with 200; the body was too large to keep. No result comes of it.
const large = await stripe.payouts.create({ amount: 10, description: 'large' }, key('large'));
assert.equal(large.id, 'po_1');
const withheld = await (async () => {
  try {
    return await stripe.payouts.create({ amount: 10, description: 'large' }, key('large'));
  } catch (error) {
    return error;
  }
})();
assert.ok(withheld instanceof errors.StripeAPIError, 'taken for a result');
assert.equal(withheld.code, 'body-withheld');
assert.equal(withheld.statusCode, 200);
assert.equal(withheld.headers['pawl-body-withheld'], 'true');
console.log('all ok');
process.exit(0); // not when the SDK's idle connections end
