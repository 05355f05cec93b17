BEGIN TRANSACTION;
CREATE TABLE `credential` (
          `id` text PRIMARY KEY,
          `integration_id` text,
          `label` text NOT NULL,
          `value` text NOT NULL,
          `connector_id` text,
          `method_id` text,
          `active` integer,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL
        );
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_20b2d11ef001238q4RER0eUJuJ','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483832815,1795483835190,'{"role":"user","time":{"created":1795483832815},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20b2d1921001snJvA218RBAVXe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483834657,1795483837054,'{"parentID":"msg_20b2d11ef001238q4RER0eUJuJ","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002402,"tokens":{"total":2397,"input":2392,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483834657,"completed":1795483837052},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20b2d307c0017VBZELYT0xjTg9','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483840636,1795483844833,'{"role":"user","time":{"created":1795483840636},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20b2d3784001lV6If8RZxJn0WH','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483842436,1795483844702,'{"parentID":"msg_20b2d307c0017VBZELYT0xjTg9","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002428,"tokens":{"total":2425,"input":2422,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483842436,"completed":1795483844700},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20b2d4064001d739ePhuVuXdnM','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844708,1795483845097,'{"parentID":"msg_20b2d307c0017VBZELYT0xjTg9","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002521,"tokens":{"total":2501,"input":2481,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483844708,"completed":1795483845095},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20b2d7faa001BFlUfOQc3hbhpq','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483860906,1795483865311,'{"role":"user","time":{"created":1795483860906},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20b2d86200018yV5SuYAHYEUEU','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483862560,1795483864467,'{"parentID":"msg_20b2d7faa001BFlUfOQc3hbhpq","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002549,"tokens":{"total":2546,"input":2543,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483862560,"completed":1795483864465},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20b2d8d9d0012d4s6WLRTvdGEe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864477,1795483865102,'{"parentID":"msg_20b2d7faa001BFlUfOQc3hbhpq","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002608,"tokens":{"total":2605,"input":2602,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483864477,"completed":1795483865101},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20b2d90120016fcGgcxcdlgh5f','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483865106,1795483865434,'{"parentID":"msg_20b2d7faa001BFlUfOQc3hbhpq","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002699,"tokens":{"total":2679,"input":2659,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483865106,"completed":1795483865432},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20b2d9de4001E6WNvcIkJjQKdr','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483868644,1795483871278,'{"role":"user","time":{"created":1795483868644},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20b2da73c00133EE6S1ljpSmi5','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483871036,1795483873648,'{"parentID":"msg_20b2d9de4001E6WNvcIkJjQKdr","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483871036,"completed":1795483873644},"error":{"name":"APIError","data":{"message":"bad","statusCode":400,"isRetryable":false,"responseHeaders":{"content-length":"69","content-type":"application/json","date":"Tue, 24 Nov 2026 01:31:13 GMT","server":"BaseHTTP/0.6 Python/3.11.7"},"responseBody":"{\"error\": {\"message\": \"bad\", \"type\": \"scripted\", \"code\": \"scripted\"}}","metadata":{"url":"http://127.0.0.1:4799/v1/chat/completions"}}}}');
INSERT INTO "message" VALUES('msg_20b2dc8d50016wsNUrCA5V127h','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483879637,1795483884071,'{"role":"user","time":{"created":1795483879637},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20b2dd8a3001xFfcAF6uwsqGj1','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483883683,1795483887816,'{"parentID":"msg_20b2dc8d50016wsNUrCA5V127h","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002844,"tokens":{"total":2791,"input":2738,"output":53,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483883683,"completed":1795483887814},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20b2dfd8d001C0NykEG4FmgOfG','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483893133,1795483900976,'{"role":"user","time":{"created":1795483893133},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20b2e0a69001O0c8SGaL6LEoDs','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483896425,1795483900475,'{"parentID":"msg_20b2dfd8d001C0NykEG4FmgOfG","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002422,"tokens":{"total":2419,"input":2416,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483896425,"completed":1795483900467},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20b2e1a49001gVt6suIaBH4gb4','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483900489,1795483901368,'{"parentID":"msg_20b2dfd8d001C0NykEG4FmgOfG","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/example/project","root":"/home/example/project"},"cost":0.002534,"tokens":{"total":2503,"input":2472,"output":31,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795483900489,"completed":1795483901366},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_20b2d1205001N8HwnixuDhvPYT','msg_20b2d11ef001238q4RER0eUJuJ','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483834614,1795483834619,'{"type":"text","text":"\"hello <<words 4>>\""}');
INSERT INTO "part" VALUES('prt_20b2d217400176f2Kuz7wrnGK4','msg_20b2d1921001snJvA218RBAVXe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483836788,1795483836796,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2d217e001jqza027rtt31Gh','msg_20b2d1921001snJvA218RBAVXe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483836799,1795483836827,'{"type":"text","text":"word1 word2 word3 word4","time":{"start":1795483836798,"end":1795483836825}}');
INSERT INTO "part" VALUES('prt_20b2d221f0017l1Hrt51Lt0sZP','msg_20b2d1921001snJvA218RBAVXe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483836960,1795483836962,'{"reason":"stop","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2397,"input":2392,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002402}');
INSERT INTO "part" VALUES('prt_20b2d30800011GJTsLO1B0wpmm','msg_20b2d307c0017VBZELYT0xjTg9','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483842389,1795483842394,'{"type":"text","text":"\"write <<tool write {\\\"filePath\\\":\\\"/home/example/project/c.txt\\\",\\\"content\\\":\\\"x\\n\\\"}>> <<reason because>>\""}');
INSERT INTO "part" VALUES('prt_20b2d3de9001wtyg79BKqZt2mQ','msg_20b2d3784001lV6If8RZxJn0WH','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844074,1795483844076,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2d3def0018N2Nvpp8AMtxpQ','msg_20b2d3784001lV6If8RZxJn0WH','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844079,1795483844089,'{"type":"reasoning","text":"because","time":{"start":1795483844079,"end":1795483844088}}');
INSERT INTO "part" VALUES('prt_20b2d3dfb001bCX38UGnLe91Lp','msg_20b2d3784001lV6If8RZxJn0WH','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844092,1795483844459,'{"type":"text","text":"Calling write. ","time":{"start":1795483844092,"end":1795483844457}}');
INSERT INTO "part" VALUES('prt_20b2d3f3b001W0Jzmy254tqaL5','msg_20b2d3784001lV6If8RZxJn0WH','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844411,1795483844499,'{"type":"tool","tool":"invalid","callID":"call_1795483844061623718_0","state":{"status":"completed","input":{"tool":"write","error":"Invalid input for tool write: JSON parsing failed: Text: {\\\"filePath\\\":\\\"/home/example/project/c.txt\\\",\\\"content\\\":\\\"x\\n\\\"}.\nError message: JSON Parse error: Unrecognized token ''\\''"},"output":"The arguments provided to the tool are invalid: Invalid input for tool write: JSON parsing failed: Text: {\\\"filePath\\\":\\\"/home/example/project/c.txt\\\",\\\"content\\\":\\\"x\\n\\\"}.\nError message: JSON Parse error: Unrecognized token ''\\''","metadata":{"truncated":false},"title":"Invalid Tool","time":{"start":1795483844484,"end":1795483844496}}}');
INSERT INTO "part" VALUES('prt_20b2d3fe3001UekfFPPJ1GExpm','msg_20b2d3784001lV6If8RZxJn0WH','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844580,1795483844583,'{"reason":"tool-calls","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2425,"input":2422,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002428}');
INSERT INTO "part" VALUES('prt_20b2d410c001rNO3skg8dT7IsR','msg_20b2d4064001d739ePhuVuXdnM','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844876,1795483844878,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2d4111001RQK6ECCoixj1B3','msg_20b2d4064001d739ePhuVuXdnM','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844881,1795483844887,'{"type":"reasoning","text":"because","time":{"start":1795483844881,"end":1795483844885}}');
INSERT INTO "part" VALUES('prt_20b2d4119001Ak1yt2rLO9Kp0J','msg_20b2d4064001d739ePhuVuXdnM','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844889,1795483844903,'{"type":"text","text":"Done: \"write \" | tool: The arguments provided to the tool are invalid: Invalid inpu","time":{"start":1795483844889,"end":1795483844901}}');
INSERT INTO "part" VALUES('prt_20b2d417c0019CKWgo6tU0xcMR','msg_20b2d4064001d739ePhuVuXdnM','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483844988,1795483844991,'{"reason":"stop","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2501,"input":2481,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002521}');
INSERT INTO "part" VALUES('prt_20b2d7fae0012XUz0J6KhwvpLE','msg_20b2d7faa001BFlUfOQc3hbhpq','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483862536,1795483862539,'{"type":"text","text":"\"write <<tool write {\\\"filePath\\\":\\\"/home/example/project/c.txt\\\",\\\"content\\\":\\\"x\\\"}>> <<tool bash {\\\"command\\\":\\\"echo hi\\\",\\\"description\\\":\\\"says hi\\\"}>> <<reason because>>\""}');
INSERT INTO "part" VALUES('prt_20b2d8bb7001NrmUueu7wZ5ZSg','msg_20b2d86200018yV5SuYAHYEUEU','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483863991,1795483863995,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2d8bbf0013EogebJNQNsZHm','msg_20b2d86200018yV5SuYAHYEUEU','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483863999,1795483864013,'{"type":"reasoning","text":"because","time":{"start":1795483863999,"end":1795483864008}}');
INSERT INTO "part" VALUES('prt_20b2d8bd0001Jue1wr6wLq4GLk','msg_20b2d86200018yV5SuYAHYEUEU','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864016,1795483864265,'{"type":"text","text":"Calling write. ","time":{"start":1795483864016,"end":1795483864259}}');
INSERT INTO "part" VALUES('prt_20b2d8cb0001ohnNp6w4uiZcsT','msg_20b2d86200018yV5SuYAHYEUEU','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864241,1795483864292,'{"type":"tool","tool":"invalid","callID":"call_1795483863936529680_0","state":{"status":"completed","input":{"tool":"write","error":"Invalid input for tool write: JSON parsing failed: Text: {\\\"filePath\\\":\\\"/home/example/project/c.txt\\\",\\\"content\\\":\\\"x\\\"}.\nError message: JSON Parse error: Unrecognized token ''\\''"},"output":"The arguments provided to the tool are invalid: Invalid input for tool write: JSON parsing failed: Text: {\\\"filePath\\\":\\\"/home/example/project/c.txt\\\",\\\"content\\\":\\\"x\\\"}.\nError message: JSON Parse error: Unrecognized token ''\\''","metadata":{"truncated":false},"title":"Invalid Tool","time":{"start":1795483864275,"end":1795483864290}}}');
INSERT INTO "part" VALUES('prt_20b2d8d38001w9q7NW2IviskdK','msg_20b2d86200018yV5SuYAHYEUEU','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864376,1795483864379,'{"reason":"tool-calls","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2546,"input":2543,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002549}');
INSERT INTO "part" VALUES('prt_20b2d8e5a001Yypfy07UP8ZN41','msg_20b2d8d9d0012d4s6WLRTvdGEe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864666,1795483864668,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2d8e63001T4cGGwfyZ407qt','msg_20b2d8d9d0012d4s6WLRTvdGEe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864675,1795483864690,'{"type":"reasoning","text":"because","time":{"start":1795483864675,"end":1795483864684}}');
INSERT INTO "part" VALUES('prt_20b2d8e73001LMZWpljJxF7rWP','msg_20b2d8d9d0012d4s6WLRTvdGEe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864692,1795483864966,'{"type":"text","text":"Calling bash. ","time":{"start":1795483864692,"end":1795483864960}}');
INSERT INTO "part" VALUES('prt_20b2d8f79001xmtYNX4jzVaTZQ','msg_20b2d8d9d0012d4s6WLRTvdGEe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483864954,1795483864991,'{"type":"tool","tool":"invalid","callID":"call_1795483864650004288_0","state":{"status":"completed","input":{"tool":"bash","error":"Invalid input for tool bash: JSON parsing failed: Text: {\\\"command\\\":\\\"echo hi\\\",\\\"description\\\":\\\"says hi\\\"}.\nError message: JSON Parse error: Unrecognized token ''\\''"},"output":"The arguments provided to the tool are invalid: Invalid input for tool bash: JSON parsing failed: Text: {\\\"command\\\":\\\"echo hi\\\",\\\"description\\\":\\\"says hi\\\"}.\nError message: JSON Parse error: Unrecognized token ''\\''","metadata":{"truncated":false},"title":"Invalid Tool","time":{"start":1795483864975,"end":1795483864989}}}');
INSERT INTO "part" VALUES('prt_20b2d8fd4001ZGzSFLM79gV2aC','msg_20b2d8d9d0012d4s6WLRTvdGEe','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483865044,1795483865046,'{"reason":"tool-calls","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2605,"input":2602,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002608}');
INSERT INTO "part" VALUES('prt_20b2d90b2001GbquifV3ES7Cnt','msg_20b2d90120016fcGgcxcdlgh5f','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483865266,1795483865268,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2d90b6001GoSZBHkXRv5spv','msg_20b2d90120016fcGgcxcdlgh5f','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483865271,1795483865278,'{"type":"reasoning","text":"because","time":{"start":1795483865270,"end":1795483865276}}');
INSERT INTO "part" VALUES('prt_20b2d90bf001IbUZu2iNopdb3u','msg_20b2d90120016fcGgcxcdlgh5f','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483865280,1795483865302,'{"type":"text","text":"Done: \"write \" | tool: The arguments provided to the tool are invalid: Invalid inpu","time":{"start":1795483865279,"end":1795483865300}}');
INSERT INTO "part" VALUES('prt_20b2d9130001NKZplpzW0hgidR','msg_20b2d90120016fcGgcxcdlgh5f','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483865392,1795483865394,'{"reason":"stop","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2679,"input":2659,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002699}');
INSERT INTO "part" VALUES('prt_20b2d9de8001XF5r5LI6hIv7dN','msg_20b2d9de4001E6WNvcIkJjQKdr','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483870973,1795483870976,'{"type":"text","text":"\"broken <<error 400 bad>>\""}');
INSERT INTO "part" VALUES('prt_20b2dd7ae001rdv0T44d27B70b','msg_20b2dc8d50016wsNUrCA5V127h','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483883461,1795483883464,'{"type":"text","synthetic":true,"text":"Called the Read tool with the following input: {\"filePath\":\"/home/example/project/a.txt\"}"}');
INSERT INTO "part" VALUES('prt_20b2dd7ae002qPptrCaY9OJVhf','msg_20b2dc8d50016wsNUrCA5V127h','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483883467,1795483883470,'{"type":"text","synthetic":true,"text":"<path>/home/example/project/a.txt</path>\n<type>file</type>\n<content>\n1: hello\n\n(End of file - total 1 lines)\n</content>"}');
INSERT INTO "part" VALUES('prt_20b2dd7ae003MFTc7GQH7SKqkm','msg_20b2dc8d50016wsNUrCA5V127h','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483883472,1795483883474,'{"type":"file","mime":"text/plain","filename":"a.txt","url":"file:///home/example/project/a.txt"}');
INSERT INTO "part" VALUES('prt_20b2dd7ae0040Qwis3ZKOGWUA1','msg_20b2dc8d50016wsNUrCA5V127h','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483883476,1795483883478,'{"type":"text","text":"\"see the file\""}');
INSERT INTO "part" VALUES('prt_20b2de744001kq0l9C2yRp6Gj3','msg_20b2dd8a3001xFfcAF6uwsqGj1','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483887428,1795483887432,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2de776001UXzxesoQraLFsn','msg_20b2dd8a3001xFfcAF6uwsqGj1','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483887479,1795483887584,'{"type":"text","text":"Echo: Called the Read tool with the following input: {\"filePath\":\"/home/example/project/a.txt\"} <path>/home/example/project/a.txt</path> <type>file</type> <content> 1: hello (End of file - total 1 lines) </content> \"see the file\"","time":{"start":1795483887478,"end":1795483887581}}');
INSERT INTO "part" VALUES('prt_20b2de8650019JSn3y0UnnNYYE','msg_20b2dd8a3001xFfcAF6uwsqGj1','ses_df4d2eec9ffegM4c6EPbf3y5gW',1795483887717,1795483887720,'{"reason":"stop","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2791,"input":2738,"output":53,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002844}');
INSERT INTO "part" VALUES('prt_20b2dfd9d001rQ7NvNNCNxq3dp','msg_20b2dfd8d001C0NykEG4FmgOfG','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483896369,1795483896372,'{"type":"text","text":"\"second session <<tool task {\\\"description\\\":\\\"d\\\",\\\"prompt\\\":\\\"sub <<words 2>>\\\",\\\"subagent_type\\\":\\\"general\\\"}>>\""}');
INSERT INTO "part" VALUES('prt_20b2e16ed0017KajW8xuEiu6IC','msg_20b2e0a69001O0c8SGaL6LEoDs','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483899629,1795483899632,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2e16f2001ewh78aDCqxoFGk','msg_20b2e0a69001O0c8SGaL6LEoDs','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483899634,1795483899978,'{"type":"text","text":"Calling task. ","time":{"start":1795483899634,"end":1795483899964}}');
INSERT INTO "part" VALUES('prt_20b2e18240016fjHoF2Aau6L2V','msg_20b2e0a69001O0c8SGaL6LEoDs','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483899940,1795483900056,'{"type":"tool","tool":"invalid","callID":"call_1795483899622386373_0","state":{"status":"completed","input":{"tool":"task","error":"Invalid input for tool task: JSON parsing failed: Text: {\\\"description\\\":\\\"d\\\",\\\"prompt\\\":\\\"sub <<words 2.\nError message: JSON Parse error: Unrecognized token ''\\''"},"output":"The arguments provided to the tool are invalid: Invalid input for tool task: JSON parsing failed: Text: {\\\"description\\\":\\\"d\\\",\\\"prompt\\\":\\\"sub <<words 2.\nError message: JSON Parse error: Unrecognized token ''\\''","metadata":{"truncated":false},"title":"Invalid Tool","time":{"start":1795483900022,"end":1795483900053}}}');
INSERT INTO "part" VALUES('prt_20b2e19da001luAffHur3zy2gp','msg_20b2e0a69001O0c8SGaL6LEoDs','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483900379,1795483900381,'{"reason":"tool-calls","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2419,"input":2416,"output":3,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002422}');
INSERT INTO "part" VALUES('prt_20b2e1be2001IAOZVWG0C424j8','msg_20b2e1a49001gVt6suIaBH4gb4','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483900898,1795483900900,'{"snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-start"}');
INSERT INTO "part" VALUES('prt_20b2e1be7001G4Ae1N0fqhZ5xl','msg_20b2e1a49001gVt6suIaBH4gb4','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483900903,1795483900926,'{"type":"text","text":"Done: \"second session \\\",\\\"subagent_type\\\":\\\"general\\\"}>>\" | tool: The arguments provided to the tool are invalid: Invalid inpu","time":{"start":1795483900903,"end":1795483900924}}');
INSERT INTO "part" VALUES('prt_20b2e1d190012u8axq9cwpLf21','msg_20b2e1a49001gVt6suIaBH4gb4','ses_df4d2037affeWCZ3ejX5Pr2GJV',1795483901210,1795483901212,'{"reason":"stop","snapshot":"23f4efb43bfeed6742796c8f174d74a02eedd473","type":"step-finish","tokens":{"total":2503,"input":2472,"output":31,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.002534}');
CREATE TABLE `permission` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `action` text NOT NULL,
          `resource` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `fk_permission_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `project` (
          `id` text PRIMARY KEY,
          `worktree` text NOT NULL,
          `vcs` text,
          `name` text,
          `icon_url` text,
          `icon_url_override` text,
          `icon_color` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_initialized` integer,
          `sandboxes` text NOT NULL,
          `commands` text
        );
INSERT INTO "project" VALUES('07b1895e2656c91ea5ebe025d1f1484e3999b888','/home/example/project','git',NULL,NULL,NULL,NULL,1795483831426,1795483891662,NULL,'[]',NULL);
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_df4d2eec9ffegM4c6EPbf3y5gW','07b1895e2656c91ea5ebe025d1f1484e3999b888',NULL,NULL,'mighty-engine','/home/example/project','','Title: hello','1.18.33',NULL,0,0,0,NULL,NULL,1.80509999999999976028e-02,17837,107,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"fake-1","providerID":"fake","variant":"default"}',1795483832630,1795483887831,NULL,NULL);
INSERT INTO "session" VALUES('ses_df4d2037affeWCZ3ejX5Pr2GJV','07b1895e2656c91ea5ebe025d1f1484e3999b888',NULL,NULL,'stellar-forest','/home/example/project','','Title: second session \",\"subagent_type\":\"general\"}>>','1.18.33',NULL,0,0,0,NULL,NULL,0.004956,4888,34,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"fake-1","providerID":"fake","variant":"default"}',1795483892869,1795483901390,NULL,NULL);
CREATE TABLE `session_input` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `prompt` text NOT NULL,
          `delivery` text NOT NULL,
          `admitted_seq` integer NOT NULL,
          `promoted_seq` integer,
          `time_created` integer NOT NULL,
          CONSTRAINT `fk_session_input_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session_input" VALUES('msg_20b2e7933001iOkuWVyVwf3YK0','ses_df4d2eec9ffegM4c6EPbf3y5gW','{"text":"and now in v2 <<tool bash {\"command\":\"echo two\"}>>"}','steer',111,112,1795483924797);
CREATE TABLE `session_message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `type` text NOT NULL,
          `seq` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_session_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session_message" VALUES('msg_20b2e7933001iOkuWVyVwf3YK0','ses_df4d2eec9ffegM4c6EPbf3y5gW','user',112,1795483924797,1795483925030,'{"time":{"created":1795483924797},"text":"and now in v2 <<tool bash {\"command\":\"echo two\"}>>"}');
INSERT INTO "session_message" VALUES('msg_20b2e8077001mnE09A5UAN5aZ4','ses_df4d2eec9ffegM4c6EPbf3y5gW','assistant',113,1795483926647,1795483927277,'{"time":{"created":1795483926647,"completed":1795483927270},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling bash. "},{"type":"tool","id":"call_1795483926629718513_0","name":"bash","provider":{"executed":false},"state":{"status":"completed","input":{"command":"echo two"},"content":[{"type":"text","text":"two\n"},{"type":"text","text":"Command exited with code 0."}],"outputPaths":[],"structured":{"exit":0,"truncated":false}},"time":{"created":1795483926933,"ran":1795483926955,"completed":1795483927087}}],"snapshot":{"start":"23f4efb43bfeed6742796c8f174d74a02eedd473","end":"23f4efb43bfeed6742796c8f174d74a02eedd473","files":[]},"finish":"tool-calls","cost":0,"tokens":{"input":288,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b2e89f2001g2LxVv2mhn9hHA','ses_df4d2eec9ffegM4c6EPbf3y5gW','assistant',121,1795483929074,1795483929388,'{"time":{"created":1795483929074,"completed":1795483929379},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Done: and now in v2 | tool: two Command exited with code 0."}],"snapshot":{"start":"23f4efb43bfeed6742796c8f174d74a02eedd473","end":"23f4efb43bfeed6742796c8f174d74a02eedd473","files":[]},"finish":"stop","cost":0,"tokens":{"input":299,"output":14,"reasoning":0,"cache":{"read":0,"write":0}}}');
CREATE TABLE `session_share` (
          `session_id` text PRIMARY KEY,
          `id` text NOT NULL,
          `secret` text NOT NULL,
          `url` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `fk_session_share_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `todo` (
          `session_id` text NOT NULL,
          `content` text NOT NULL,
          `status` text NOT NULL,
          `priority` text NOT NULL,
          `position` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `todo_pk` PRIMARY KEY(`session_id`, `position`),
          CONSTRAINT `fk_todo_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
CREATE INDEX `session_input_session_pending_delivery_seq_idx` ON `session_input` (`session_id`,`promoted_seq`,`delivery`,`admitted_seq`);
CREATE INDEX `session_message_session_type_seq_idx` ON `session_message` (`session_id`,`type`,`seq`);
CREATE INDEX `session_message_session_time_created_id_idx` ON `session_message` (`session_id`,`time_created`,`id`);
CREATE INDEX `session_message_time_created_idx` ON `session_message` (`time_created`);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
CREATE INDEX `todo_session_idx` ON `todo` (`session_id`);
COMMIT;
