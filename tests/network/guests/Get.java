import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** Prints what a URL has, by HttpClient as it comes. */
public class Get {
  public static void main(String[] words) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(words[0])).timeout(Duration.ofSeconds(20)).build();
    var answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
    System.out.print(answer.body());
    System.exit(answer.statusCode() == 200 ? 0 : 1);
  }
}
