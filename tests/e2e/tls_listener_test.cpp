// Listeners that speak TLS.
#include <future>

#include "tests/e2e/tls_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

const std::string taken_over = "the configuration was reloaded";

class TlsListener : public TlsTest {};

TEST_F(TlsListener, ServesByTls12AndTls13AndSaysSoUpstream) {
  ServeProcess& gateway = start({"", "", tls()});
  EXPECT_THAT(gateway.out(), HasSubstr("listening on https://127.0.0.1:"));
  const testing::Finished first = curl(gateway, {"--tlsv1.2", "--tls-max", "1.2"});
  EXPECT_THAT(first.out, ::testing::EndsWith(" 201")) << first.err;
  const testing::Finished second = curl(gateway, {"--tlsv1.3", "-D", "-"});
  EXPECT_THAT(second.out, HasSubstr("Idempotent-Replayed: true")) << second.err;
  ASSERT_EQ(upstream.requests().size(), 1U);
  EXPECT_EQ(upstream.requests().front().header("X-Forwarded-Proto"), "https");
  EXPECT_NE(curl(gateway, {"--tlsv1.1", "--tls-max", "1.1"}).exit_code, 0);
}

TEST_F(TlsListener, APlainRequestIsToldAndATlsHelloOnAPlainPortIsLogged) {
  ServeProcess& gateway = start({"", "", tls()});
  const HttpAnswer plain = post(gateway.port(), payment);
  EXPECT_EQ(plain.status, 400);
  EXPECT_THAT(plain.body, HasSubstr("This port speaks TLS"));
  ServeProcess& other = start();
  EXPECT_NE(curl(other).exit_code, 0);
  EXPECT_TRUE(other.wait_for_text("a TLS hello came to a port that speaks plain HTTP"));
  EXPECT_TRUE(upstream.requests().empty());
}

TEST_F(TlsListener, AClientOfHttp2IsToldWhatIsSpoken) {
  ServeProcess& gateway = start({"", "", tls()});
  EXPECT_THAT(curl(gateway, {"--http2"}).out, ::testing::EndsWith(" 201")) << "it offers both";
  const testing::Finished only =
      testing::run_program({"/usr/bin/openssl", "s_client", "-connect",
                            "127.0.0.1:" + std::to_string(gateway.port()), "-alpn", "h2"});
  EXPECT_NE(only.exit_code, 0);
  EXPECT_THAT(only.err, HasSubstr("no application protocol"));
  ServeProcess& plain = start();
  RawClient client(plain.port());
  client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), ::testing::StartsWith("HTTP/1.1 505 "));
  EXPECT_TRUE(plain.wait_for_text("the client began with HTTP/2, which is not spoken here"));
}

TEST_F(TlsListener, ARenewedCertificateIsTakenOverAndConnectionsStay) {
  ServeProcess& gateway = start({"", "", tls()});
  EXPECT_THAT(served_subject(gateway), HasSubstr("CN = server"));
  make_certificate("renewed", "ca", "subjectAltName=DNS:localhost");
  gateway.rewrite_config(config_of({"", "", tls("tls", "renewed")}));
  gateway.ask_to_reload();
  ASSERT_TRUE(gateway.wait_for_text(taken_over));
  EXPECT_THAT(served_subject(gateway), HasSubstr("CN = renewed"));

  std::filesystem::copy_file(file("ca.key"), file("renewed.key"),
                             std::filesystem::copy_options::overwrite_existing);
  gateway.ask_to_reload();
  ASSERT_TRUE(gateway.wait_for_text("the configuration was not reloaded"));
  EXPECT_THAT(gateway.err(), HasSubstr("renewed.key: it is not the key of"));
  EXPECT_THAT(curl(gateway).out, ::testing::EndsWith(" 201")) << "with the one before";

  gateway.rewrite_config(config_of({"", "", ""}));
  gateway.ask_to_reload();
  ASSERT_TRUE(gateway.wait_for_text("[tls] has changed, which needs a restart"));
}

TEST_F(TlsListener, NeedsAClientsCertificateWhereAnAuthorityIsNamed) {
  make_authority("other");
  make_certificate("acme", "ca", "extendedKeyUsage=clientAuth");
  make_certificate("stranger", "other", "extendedKeyUsage=clientAuth");
  make_certificate("late", "ca", "extendedKeyUsage=clientAuth", "0");
  ServeProcess& gateway = start({"", "", tls() + "client_ca_file = \"" + file("ca.pem") + "\"\n"});
  const auto with = [&](const std::string& name) {
    return curl(gateway, {"--cert", file(name + ".pem"), "--key", file(name + ".key")});
  };
  EXPECT_THAT(with("acme").out, ::testing::EndsWith(" 201"));
  EXPECT_NE(curl(gateway).exit_code, 0);
  EXPECT_TRUE(gateway.wait_for_text("peer did not return a certificate"));
  EXPECT_NE(with("stranger").exit_code, 0);
  EXPECT_TRUE(gateway.wait_for_text("certificate verify failed"));
  ASSERT_TRUE(until([&] { return with("late").exit_code != 0; }));
  EXPECT_EQ(upstream.requests().size(), 1U);
}

TEST_F(TlsListener, ACallerIsWhoItsCertificateSays) {
  make_certificate("acme", "ca", "extendedKeyUsage=clientAuth\nsubjectAltName=URI:urn:acme");
  make_certificate("bank", "ca", "extendedKeyUsage=clientAuth\nsubjectAltName=URI:urn:bank");
  make_certificate("nameless", "ca", "extendedKeyUsage=clientAuth");
  ServeProcess& gateway = start({"", "",
                                 tls() + "[caller]\nfrom = \"mtls\"\nclient_ca_file = \"" +
                                     file("ca.pem") + "\"\ncertificate_name = \"uri\"\n"});
  const auto with = [&](const std::string& name) {
    return curl(gateway, {"--cert", file(name + ".pem"), "--key", file(name + ".key"), "-D", "-"});
  };
  EXPECT_THAT(with("acme").out, ::testing::EndsWith(" 201"));
  EXPECT_THAT(with("acme").out, HasSubstr("Idempotent-Replayed: true"));
  EXPECT_THAT(with("bank").out, ::testing::Not(HasSubstr("Idempotent-Replayed")))
      << "another caller, another key";
  EXPECT_EQ(upstream.requests().size(), 2U);
  EXPECT_THAT(with("nameless").out, ::testing::EndsWith(" 401"));
  EXPECT_THAT(curl(gateway).out, ::testing::EndsWith(" 401")) << "no certificate, no caller";
}

// A body that the service did not read would be taken for the other tenant's next request.
TEST_F(TlsListener, TwoCertificatesWithOneSubjectAreTwoSenders) {
  for (const char* name : {"acme", "bank"}) {
    make_certificate(name, "ca",
                     std::string("extendedKeyUsage=clientAuth\nsubjectAltName=URI:urn:") + name,
                     "2", "/O=Same Ltd");
  }
  ServeProcess& gateway = start({"", "threads = 1\n",
                                 tls() + "[caller]\nfrom = \"mtls\"\nclient_ca_file = \"" +
                                     file("ca.pem") + "\"\ncertificate_name = \"uri\"\n"});
  for (const char* name : {"acme", "bank"}) {
    const std::string from = file(name);
    EXPECT_THAT(curl(gateway, {"--cert", from + ".pem", "--key", from + ".key"}).out,
                ::testing::EndsWith(" 201"));
  }
  const std::vector<ReceivedRequest> seen = upstream.requests();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NE(seen[0].connection, seen[1].connection);
}

TEST_F(TlsListener, AConnectionEndsWhereItsAuthorityIsTrustedNoMore) {
  make_authority("other");
  make_certificate("acme", "ca", "extendedKeyUsage=clientAuth");
  const auto trusting = [&](const std::string& name) {
    return Settings{"", "", tls() + "client_ca_file = \"" + file(name + ".pem") + "\"\n"};
  };
  ServeProcess& gateway = start(trusting("ca"));
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  const std::string url = "https://localhost:" + std::to_string(gateway.port()) + "/payments";
  // Twice, on one connection if it can be had.
  auto twice = std::async(std::launch::async, [&] {
    return curl(gateway,
                {"--cert", file("acme.pem"), "--key", file("acme.key"), "-o", "/dev/null", url});
  });
  upstream.wait_for(1);
  gateway.rewrite_config(config_of(trusting("other")));
  gateway.ask_to_reload();
  ASSERT_TRUE(gateway.wait_for_text(taken_over));
  gate->release();
  const testing::Finished done = twice.get();
  EXPECT_THAT(done.out, HasSubstr(" 201")) << "what was under way has its answer";
  EXPECT_NE(done.exit_code, 0) << "and the next has none: " << done.out;
  EXPECT_EQ(upstream.requests().size(), 1U);
}

TEST_F(TlsListener, AKeyWithAPassphraseIsRefusedAndAsksNobody) {
  ServeProcess& gateway = start({"", "", tls()});
  std::filesystem::copy_file(file("server.pem"), file("locked.pem"));
  openssl({"ec", "-in", file("server.key"), "-aes256", "-passout", "pass:secret", "-out",
           file("locked.key")});
  gateway.rewrite_config(config_of({"", "", tls("tls", "locked")}));
  gateway.ask_to_reload();
  ASSERT_TRUE(gateway.wait_for_text("locked.key: it has a passphrase")) << gateway.err();
  EXPECT_THAT(curl(gateway).out, ::testing::EndsWith(" 201")) << "with the one before";
}

TEST_F(TlsListener, AnUpstreamIsVerifiedByItsAuthorityAndShownOurCertificate) {
  make_authority("other");
  make_certificate("gateway", "ca", "extendedKeyUsage=clientAuth");
  make_certificate("elsewhere", "ca", "subjectAltName=DNS:elsewhere.example");
  make_certificate("self", "other", "subjectAltName=DNS:localhost");
  make_certificate("expired", "ca", "subjectAltName=DNS:localhost", "-1");
  int number = 0;
  const auto answer_behind = [&](const std::string& server, const std::string& shown,
                                 const std::string& says) {
    const std::string asks = "client_ca_file = \"" + file("ca.pem") + "\"\n";
    const std::string store = "sqlite:" + file("behind-" + server + ".db");
    Settings behind{"", "", tls("tls", server) + asks};
    behind.flags = {"--store", store};
    const ServeProcess& service = start(behind);
    Settings before{"", "", "[upstream_tls]\nca_file = \"" + file("ca.pem") + "\"\n" + shown};
    before.upstream = "https://localhost:" + std::to_string(service.port());
    ServeProcess& gateway = start(before);
    Post request = payment;
    request.key += std::to_string(++number);
    const int status = post(gateway.port(), request).status;
    EXPECT_TRUE(says.empty() || gateway.wait_for_text(says)) << server << gateway.err();
    return status;
  };
  const std::string ours = "certificate_file = \"" + file("gateway.pem") + "\"\nkey_file = \"" +
                           file("gateway.key") + "\"\n";
  EXPECT_EQ(answer_behind("server", ours, ""), 201);
  EXPECT_EQ(answer_behind("elsewhere", ours, "certificate verify failed"), 502);
  EXPECT_EQ(answer_behind("self", ours, "unable to get local issuer certificate"), 502);
  EXPECT_EQ(answer_behind("expired", ours, "certificate has expired"), 502);
  EXPECT_EQ(upstream.requests().size(), 1U);
}

TEST_F(TlsListener, TheAdminListenerToo) {
  ServeProcess& gateway = start({"", "", tls("admin.tls")});
  const testing::Finished health = testing::run_program(
      {"/usr/bin/curl", "-sS", "--cacert", file("ca.pem"),
       "https://localhost:" + std::to_string(gateway.admin_port()) + "/healthz"});
  EXPECT_EQ(health.out, "ok\n") << health.err;
}

TEST_F(TlsListener, AHandshakeThatDoesNotEndIsEnded) {
  ServeProcess& gateway = start({"", "", tls() + "[limits]\nheader_timeout = \"100ms\"\n"});
  RawClient silent(gateway.port());
  EXPECT_TRUE(silent.closed());
  RawClient half(gateway.port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_TRUE(half.closed());
  EXPECT_TRUE(gateway.wait_for_text("the TLS handshake timed out"));
}

}  // namespace
}  // namespace pawl::e2e
