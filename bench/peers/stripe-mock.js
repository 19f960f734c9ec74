// stripe-stateful-mock, as it is: what people test their Stripe code against. Arguments: FOLDER PORT
import http from 'node:http';
import mock from 'stripe-stateful-mock';

http.createServer(mock.createExpressApp()).listen(Number(process.argv[3]), '127.0.0.1');
